sleep 0.02
ptrace-event -r "$1" sleep 0.01
