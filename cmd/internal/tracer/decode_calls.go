package tracer

const (
	kOpen     = kFlags + fOpen
	kProt     = kFlags + fProt
	kMap      = kFlags + fMap
	kAt       = kFlags + fAt
	kClone    = kFlags + fClone
	kWait     = kFlags + fWait
	kDomain   = kFlags + fDomain
	kSocket   = kFlags + fSocket
	kMsg      = kFlags + fMsg
	kSeek     = kFlags + fSeek
	kAccess   = kFlags + fAccess
	kFcntl    = kFlags + fFcntl
	kFutex    = kFlags + fFutex
	kEpollCtl = kFlags + fEpollCtl
	kAdvise   = kFlags + fAdvise
	kSigmask  = kFlags + fSigmask
	kShut     = kFlags + fShut
	kClock    = kFlags + fClock
	kLevel    = kFlags + fLevel
	kRandom   = kFlags + fRandom
	kLock     = kFlags + fLock
	kPipe     = kFlags + fPipe
	kArch     = kFlags + fArch
	kIoctl    = kFlags + fIoctl
	kPrctl    = kFlags + fPrctl
	kLimit    = kFlags + fLimit
	kPtrace   = kFlags + fPtrace
	kUnlink   = kFlags + fUnlink
	kRename   = kFlags + fRename
)

// calls returns the arguments of the system calls that people look at. The environment
// of execve(2) is not among them: nothing of it is ever recorded.
func calls() map[string][]kind {
	return map[string][]kind{
		// files
		"open":              {kPath, kOpen, kMode},
		"openat":            {kDirFD, kPath, kOpen, kMode},
		"openat2":           {kDirFD, kPath, kHow, kSize},
		"creat":             {kPath, kOctal},
		"close":             {kFD},
		"close_range":       {kFD, kFD, kHex},
		"read":              {kFD, kOut, kSize},
		"write":             {kFD, kIn, kSize},
		"pread64":           {kFD, kOut, kSize, kLong},
		"pwrite64":          {kFD, kIn, kSize, kLong},
		"readv":             {kFD, kBlocksOut, kInt},
		"writev":            {kFD, kBlocksIn, kInt},
		"preadv":            {kFD, kBlocksOut, kInt, kLong},
		"pwritev":           {kFD, kBlocksIn, kInt, kLong},
		"preadv2":           {kFD, kBlocksOut, kInt, kLong, kHex, kHex},
		"pwritev2":          {kFD, kBlocksIn, kInt, kLong, kHex, kHex},
		"lseek":             {kFD, kLong, kSeek},
		"stat":              {kPath, kStatOut},
		"lstat":             {kPath, kStatOut},
		"fstat":             {kFD, kStatOut},
		"newfstatat":        {kDirFD, kPath, kStatOut, kAt},
		"statx":             {kDirFD, kPath, kAt, kHex, kStatxOut},
		"statfs":            {kPath, kHex},
		"fstatfs":           {kFD, kHex},
		"access":            {kPath, kAccess},
		"faccessat":         {kDirFD, kPath, kAccess},
		"faccessat2":        {kDirFD, kPath, kAccess, kAt},
		"readlink":          {kPath, kLink, kSize},
		"readlinkat":        {kDirFD, kPath, kLink, kSize},
		"rename":            {kPath, kPath},
		"renameat":          {kDirFD, kPath, kDirFD, kPath},
		"renameat2":         {kDirFD, kPath, kDirFD, kPath, kRename},
		"unlink":            {kPath},
		"unlinkat":          {kDirFD, kPath, kUnlink},
		"mkdir":             {kPath, kOctal},
		"mkdirat":           {kDirFD, kPath, kOctal},
		"rmdir":             {kPath},
		"link":              {kPath, kPath},
		"linkat":            {kDirFD, kPath, kDirFD, kPath, kAt},
		"symlink":           {kPath, kPath},
		"symlinkat":         {kPath, kDirFD, kPath},
		"mknod":             {kPath, kOctal, kHex},
		"mknodat":           {kDirFD, kPath, kOctal, kHex},
		"chmod":             {kPath, kOctal},
		"fchmod":            {kFD, kOctal},
		"fchmodat":          {kDirFD, kPath, kOctal},
		"chown":             {kPath, kInt, kInt},
		"lchown":            {kPath, kInt, kInt},
		"fchown":            {kFD, kInt, kInt},
		"fchownat":          {kDirFD, kPath, kInt, kInt, kAt},
		"utimensat":         {kDirFD, kPath, kHex, kAt},
		"truncate":          {kPath, kLong},
		"ftruncate":         {kFD, kLong},
		"fallocate":         {kFD, kHex, kLong, kLong},
		"fsync":             {kFD},
		"fdatasync":         {kFD},
		"sync":              {},
		"flock":             {kFD, kLock},
		"chdir":             {kPath},
		"fchdir":            {kFD},
		"chroot":            {kPath},
		"getcwd":            {kLink, kSize},
		"getdents64":        {kFD, kHex, kSize},
		"dup":               {kFD},
		"dup2":              {kFD, kFD},
		"dup3":              {kFD, kFD, kPipe},
		"pipe":              {kFDs},
		"pipe2":             {kFDs, kPipe},
		"fcntl":             {kFD, kFcntl, kFcntlArg},
		"ioctl":             {kFD, kIoctl, kHex},
		"umask":             {kOctal},
		"mount":             {kPath, kPath, kPath, kHex, kHex},
		"umount2":           {kPath, kHex},
		"sendfile":          {kFD, kFD, kHex, kSize},
		"splice":            {kFD, kHex, kFD, kHex, kSize, kHex},
		"copy_file_range":   {kFD, kHex, kFD, kHex, kSize, kHex},
		"fadvise64":         {kFD, kLong, kLong, kInt},
		"memfd_create":      {kPath, kHex},
		"inotify_init1":     {kHex},
		"inotify_add_watch": {kFD, kPath, kHex},
		"getxattr":          {kPath, kPath, kHex, kSize},
		"lgetxattr":         {kPath, kPath, kHex, kSize},
		"setxattr":          {kPath, kPath, kIn, kSize, kHex},

		// memory
		"mmap":     {kHex, kSize, kProt, kMap, kFD, kHex},
		"munmap":   {kHex, kSize},
		"mprotect": {kHex, kSize, kProt},
		"mremap":   {kHex, kSize, kSize, kHex, kHex},
		"madvise":  {kHex, kSize, kAdvise},
		"brk":      {kHex},
		"msync":    {kHex, kSize, kHex},
		"mlock":    {kHex, kSize},

		// processes
		"execve":            {kPath, kStrings},
		"execveat":          {kDirFD, kPath, kStrings},
		"fork":              {},
		"vfork":             {},
		"clone":             {kClone, kHex, kHex, kHex, kHex},
		"clone3":            {kCloneArgs, kSize},
		"exit":              {kInt},
		"exit_group":        {kInt},
		"wait4":             {kPID, kStatus, kWait, kHex},
		"waitid":            {kInt, kPID, kHex, kWait, kHex},
		"kill":              {kPID, kSignal},
		"tkill":             {kPID, kSignal},
		"tgkill":            {kPID, kPID, kSignal},
		"pidfd_open":        {kPID, kHex},
		"pidfd_send_signal": {kFD, kSignal, kHex, kHex},
		"getpid":            {},
		"getppid":           {},
		"gettid":            {},
		"getpgrp":           {},
		"getpgid":           {kPID},
		"setpgid":           {kPID, kPID},
		"getsid":            {kPID},
		"setsid":            {},
		"getuid":            {},
		"geteuid":           {},
		"getgid":            {},
		"getegid":           {},
		"setuid":            {kInt},
		"setgid":            {kInt},
		"getrlimit":         {kLimit, kLimitsOut},
		"setrlimit":         {kLimit, kLimits},
		"prlimit64":         {kPID, kLimit, kLimits, kLimitsOut},
		"getrusage":         {kInt, kHex},
		"prctl":             {kPrctl, kHex, kHex, kHex, kHex},
		"arch_prctl":        {kArch, kHex},
		"ptrace":            {kPtrace, kPID, kHex, kHex},
		"set_tid_address":   {kHex},
		"set_robust_list":   {kHex, kSize},
		"rseq":              {kHex, kSize, kHex, kHex},
		"sched_yield":       {},
		"sched_getaffinity": {kPID, kSize, kHex},
		"sched_setaffinity": {kPID, kSize, kHex},
		"uname":             {kHex},
		"sysinfo":           {kHex},
		"getrandom":         {kHex, kSize, kRandom},
		"restart_syscall":   {},

		// signals
		"rt_sigaction":    {kSignal, kAction, kActionOut, kSize},
		"rt_sigprocmask":  {kSigmask, kSignalSet, kSignalSetOut, kSize},
		"rt_sigreturn":    {},
		"rt_sigsuspend":   {kSignalSet, kSize},
		"rt_sigtimedwait": {kSignalSet, kHex, kTime, kSize},
		"sigaltstack":     {kHex, kHex},
		"pause":           {},
		"alarm":           {kSize},

		// time
		"nanosleep":       {kTime, kHex},
		"clock_nanosleep": {kClock, kHex, kTime, kHex},
		"clock_gettime":   {kClock, kTimeOut},
		"gettimeofday":    {kHex, kHex},

		// waiting
		"futex":         {kHex, kFutex, kInt, kHex, kHex, kInt},
		"poll":          {kPoll, kSize, kInt},
		"ppoll":         {kPoll, kSize, kTime, kSignalSet, kSize},
		"select":        {kInt, kHex, kHex, kHex, kHex},
		"pselect6":      {kInt, kHex, kHex, kHex, kTime, kHex},
		"epoll_create":  {kInt},
		"epoll_create1": {kPipe},
		"epoll_ctl":     {kFD, kEpollCtl, kFD, kEpoll},
		"epoll_wait":    {kFD, kEpollOut, kInt, kInt},
		"epoll_pwait":   {kFD, kEpollOut, kInt, kInt, kSignalSet, kSize},
		"eventfd2":      {kSize, kPipe},

		// sockets
		"socket":      {kDomain, kSocket, kInt},
		"socketpair":  {kDomain, kSocket, kInt, kFDs},
		"bind":        {kFD, kAddrIn, kSize},
		"listen":      {kFD, kInt},
		"connect":     {kFD, kAddrIn, kSize},
		"accept":      {kFD, kAddrOut, kHex},
		"accept4":     {kFD, kAddrOut, kHex, kSocket},
		"getsockname": {kFD, kAddrOut, kHex},
		"getpeername": {kFD, kAddrOut, kHex},
		"sendto":      {kFD, kIn, kSize, kMsg, kAddrIn, kSize},
		"recvfrom":    {kFD, kOut, kSize, kMsg, kAddrOut, kHex},
		"sendmsg":     {kFD, kMessageIn, kMsg},
		"recvmsg":     {kFD, kMessageOut, kMsg},
		"setsockopt":  {kFD, kLevel, kOption, kIntIn, kSize},
		"getsockopt":  {kFD, kLevel, kOption, kIntOut, kHex},
		"shutdown":    {kFD, kShut},
	}
}
