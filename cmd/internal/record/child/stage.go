package child

// Messages between a tracer and the thread that executes the command.
const (
	StageHere     = 'h' // pid and tid of the thread
	StageGo       = 'g' // the thread is traced; data: the filter to set
	StageUntraced = 'l' // the thread is not traced; continue without
	StageSet      = 'f' // the thread has set the filter; data: "0", or something else if it could not
)
