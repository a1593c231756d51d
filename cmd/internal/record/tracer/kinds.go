package tracer

// kind is the type of an argument of a system call, which says how it is shown.
type kind uint8

const (
	kHex          kind = iota // an address, or a value of unknown meaning
	kNone                     // not an argument of this variant of the call
	kPointer                  // an address
	kInt                      // a signed number of 32 bits
	kLong                     // a signed number of 64 bits
	kSize                     // an unsigned number of 64 bits
	kUint                     // an unsigned number of 32 bits
	kFD                       // a descriptor
	kDirFD                    // a descriptor or AT_FDCWD
	kPath                     // a string that is a path or name
	kPID                      // a process
	kSignal                   // a signal by name
	kOctal                    // permissions
	kFileMode                 // the type and the permissions of a file
	kMode                     // permissions of a file that open(2) may create
	kStrings                  // an array of strings: argv
	kEnvironment              // the environment: its address and how many variables it has
	kIn                       // input bytes; the next argument is their number
	kTime                     // struct timespec
	kAddrIn                   // input struct sockaddr; the next argument is its size
	kBlocksIn                 // input array of struct iovec; the next argument is its length
	kMessageIn                // input struct msghdr
	kCloneArgs                // struct clone_args; the next argument is its size
	kHow                      // struct open_how; the next argument is its size
	kAction                   // struct sigaction
	kSignalSet                // sigset_t
	kEpoll                    // struct epoll_event
	kLimits                   // struct rlimit
	kIntIn                    // input int, if the next argument is the size of an int
	kFcntlArg                 // the argument of a command of fcntl(2)
	kOption                   // option of a socket; the previous argument is the level
	kCommand                  // command of ioctl(2)
	kChildStack               // an address with a name, for clone(2)
	kParentTID                // another
	kChildTID                 // another
	kTLS                      // another
	kResumed                  // no argument: the call that restart_syscall(2) continues
	kText                     // a string that is no path
	kOffset                   // off_t
	kTimes                    // two of struct timespec
	kInterval                 // struct itimerspec
	kTimer                    // struct itimerval
	kMicroTime                // struct timeval
	kFileLock                 // struct flock
	kIntAt                    // an int that the argument points to
	kCPUs                     // set of processors; the previous argument is its size
	kIDs                      // array of user or group ids; the previous argument is its length
	kStack                    // stack_t
	kMessagesIn               // array of struct mmsghdr; the next argument is its length
	kFDs                      // two descriptors, on return
	kOut                      // output bytes: as many as the result
	kValueOut                 // output bytes, or none if the next argument, their number, is 0
	kLink                     // output bytes that are a path
	kStatOut                  // struct stat, on return
	kAddrOut                  // struct sockaddr on return; the next argument points to its size
	kStatus                   // wait status of a process, on return
	kBlocksOut                // array of struct iovec, on return; the next argument is its length
	kMessageOut               // struct msghdr, on return
	kStatxOut                 // struct statx, on return
	kEpollOut                 // array of struct epoll_event, on return; the result is its length
	kActionOut                // struct sigaction, on return
	kSignalSetOut             // sigset_t, on return
	kLimitsOut                // struct rlimit, on return
	kTimeOut                  // struct timespec, on return
	kTimeLeft                 // struct timespec, if a signal has interrupted the call
	kMicroTimeOut             // struct timeval, on return
	kIntervalOut              // struct itimerspec, on return
	kTimerOut                 // struct itimerval, on return
	kIntOut                   // an int, on return, if the next argument points to its size
	kLengthOut                // an int, on return
	kEntriesOut               // the entries of a directory, on return: how many
	kEndOut                   // siginfo_t of the end of a process, on return
	kUsageOut                 // struct rusage, on return
	kUnameOut                 // struct utsname, on return
	kSystemOut                // struct sysinfo, on return
	kFilesOut                 // struct statfs, on return
	kCPUsOut                  // set of processors, on return: of as many bytes as the result
	kIDsOut                   // array of user or group ids, on return: as many as the result
	kStackOut                 // stack_t, on return
	kMessagesOut              // array of struct mmsghdr, on return: as many as the result
	kFileLockOut              // struct flock, on return
	kControl                  // the argument of a command of ioctl(2)
	kPoll                     // array of struct pollfd, on return; the next argument is its length
	kSelect                   // set of descriptors, and those of them that are ready on return
	kFlags                    // names of flags; kFlags+n is table n
)

// returned reports whether the value of an argument is known only when the call returns.
func (k kind) returned() bool { return k >= kFDs && k <= kSelect }

// onSuccess reports whether a call sets what an argument points to only if it succeeds.
func (k kind) onSuccess() bool {
	return k.returned() && k != kPoll && k != kSelect && k != kTimeLeft && k != kControl
}

// moves reports whether an argument is bytes that the call moves: a secret may be among them, in any
// pieces. --redact leaves them out.
func (k kind) moves() bool {
	switch k {
	case kIn, kOut, kValueOut, kBlocksIn, kBlocksOut, kMessageIn, kMessageOut, kMessagesIn, kMessagesOut:
		return true
	}
	return false
}

// The indexes of flagTables. An argument of kind kFlags+n has the table n.
const (
	fOpen = iota
	fProt
	fMap
	fAt
	fClone
	fWait
	fDomain
	fSocket
	fMsg
	fSeek
	fAccess
	fFcntl
	fFutex
	fEpollCtl
	fAdvise
	fSigmask
	fShut
	fClock
	fLevel
	fRandom
	fLock
	fPipe
	fArch
	fIoctl
	fPrctl
	fLimit
	fPtrace
	fUnlink
	fRename
	fPoll
	fEpoll
	fAction
	fClone3
	fOption
	fOptionTCP
	fLockType
	fStack
	fFileSystem
	fSeal
	fBits
	fCapability
	fTimer
	fInterval
	fUsage
	fWhich
	fFileAdvice
	fMemory
	fEvents
	fEpollNew
	fPriority
	fStatx
	fAllocate
	fRemap
	fSync
	fTables
)

// unknownCall is the spec of a call whose arguments are unknown: the registers.
var unknownCall = kinds{kHex, kHex, kHex, kHex, kHex, kHex}
