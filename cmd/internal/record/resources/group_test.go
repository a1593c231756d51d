package resources

import "syscall"

var group = &syscall.SysProcAttr{Setpgid: true}

func killGroup(pid int) { syscall.Kill(-pid, syscall.SIGKILL) }
