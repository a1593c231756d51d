package tracer

// openFlags has the names of the flags of open(2).
var openFlags = &flagTables[fOpen]
