// Package symbols names addresses: the function that an address is in and the line of its source,
// from the symbol table, the DWARF lines or Go's own table of a program or shared library, or of
// its separate debug file.
//
// All of these files are untrusted. Their authors chose every size and offset in them, so the
// package bounds what it reads, what it allocates and how long it searches. A file that exceeds a
// bound, or that no linker writes, yields fewer names and a reason.
package symbols
