echo begin
ptrace-event note.made 'a note with "quotes"'
ptrace-event -r step.one true
ptrace-event -r step.two sh -c 'echo inside; exit 4' || true
(exit 3)
echo end >&2
