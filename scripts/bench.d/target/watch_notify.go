package main

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"
)

// notify is asked by the kernel before each call of one system call (seccomp_unotify(2)), and lets it continue.
type notify struct {
	call     int
	listener int
	notice   notice
}

// notice is struct seccomp_notif.
type notice struct {
	id         uint64
	pid, flags uint32
	nr         int32
	arch       uint32
	ip         uint64
	args       [6]uint64
}

// answer is struct seccomp_notif_resp.
type answer struct {
	id    uint64
	value int64
	error int32
	flags uint32
}

func openNotify(call int) (source, error) { return &notify{call: call}, nil }

// start starts the command by way of confined, which sends the descriptor of the listener.
func (s *notify) start(cmd *exec.Cmd) error {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	end := os.NewFile(uintptr(pair[1]), "socket")
	defer end.Close()
	cmd.ExtraFiles = []*os.File{end}
	cmd.Args = append([]string{"target", "confined", strconv.Itoa(s.call), cmd.Path}, cmd.Args[1:]...)
	cmd.Path = "/proc/self/exe"
	if err := cmd.Start(); err != nil {
		return err
	}
	control := make([]byte, unix.CmsgSpace(4))
	_, n, _, _, err := unix.Recvmsg(pair[0], make([]byte, 1), control, 0)
	if err != nil {
		return err
	}
	messages, err := unix.ParseSocketControlMessage(control[:n])
	if err != nil || len(messages) == 0 {
		return fmt.Errorf("no listener: %v", err)
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err == nil {
		s.listener = fds[0]
	}
	return err
}

func (s *notify) read(n *counts) error {
	list := []unix.PollFd{{Fd: int32(s.listener), Events: unix.POLLIN}}
	if k, err := unix.Poll(list, 5); err != nil && err != unix.EINTR || k <= 0 {
		return nil
	}
	if list[0].Revents&unix.POLLIN == 0 {
		return nil
	}
	s.notice = notice{}
	if _, _, no := unix.Syscall(unix.SYS_IOCTL, uintptr(s.listener), unix.SECCOMP_IOCTL_NOTIF_RECV, uintptr(unsafe.Pointer(&s.notice))); no != 0 {
		return nil // the caller was killed
	}
	n.calls++
	a := answer{id: s.notice.id, flags: unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE}
	unix.Syscall(unix.SYS_IOCTL, uintptr(s.listener), unix.SECCOMP_IOCTL_NOTIF_SEND, uintptr(unsafe.Pointer(&a)))
	return nil
}

// confined installs a filter for a system call, sends the listener through descriptor 3, and executes a command.
func confined(args []string) error {
	nr, err := strconv.Atoi(args[0])
	if err != nil || len(args) < 2 {
		return fmt.Errorf("wrong arguments")
	}
	program := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: uint32(nr), Jf: 1},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_USER_NOTIF},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	f := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	fd, _, no := unix.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_NEW_LISTENER, uintptr(unsafe.Pointer(&f)))
	if no != 0 {
		return no
	}
	if err := unix.Sendmsg(3, []byte{0}, unix.UnixRights(int(fd)), nil, 0); err != nil {
		return err
	}
	unix.CloseOnExec(3)
	unix.CloseOnExec(int(fd))
	return unix.Exec(args[1], args[1:], os.Environ())
}
