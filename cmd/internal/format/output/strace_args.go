package output

import (
	"bytes"
	"strconv"
	"unicode/utf8"

	"github.com/posixtrace/posixtrace/cmd/internal/format/catalog"
	"github.com/posixtrace/posixtrace/cmd/internal/format/escape"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// appendArgs appends the arguments of a call from number from on.
func (l *StraceLines) appendArgs(b []byte, shape CallShape, args []posixtrace.SyscallArg, from int) []byte {
	for i := from; i < len(args); i++ {
		a := &args[i]
		if i > from {
			b = append(b, ", "...)
		}
		if !a.String {
			if b = l.appendParts(b, a.Value); a.Cut {
				b = append(b, "..."...)
			}
			continue
		}
		size := l.StringSize
		if shape.Paths>>i&1 == 1 {
			size = len(a.Value)
		}
		b = appendCut(b, a.Value, size, a.Cut)
	}
	return b
}

// appendParts appends an argument that is no string. Strings in it, such as those of an array, are
// cut.
func (l *StraceLines) appendParts(b, value []byte) []byte {
	for {
		before, rest, found := bytes.Cut(value, []byte{'"'})
		b = escape.AppendPrintable(b, before)
		if !found {
			return b
		}
		s, end := unquote(rest)
		if end < 0 { // no string: the record was truncated in it, or it is no text of ours
			return escape.AppendPrintable(append(b, '"'), rest)
		}
		value = rest[end:]
		more := bytes.HasPrefix(value, []byte("..."))
		if more {
			value = value[3:]
		}
		b = appendCut(b, s, l.StringSize, more)
	}
}

// unquote returns the string before the quote that ends it, and where the text behind that begins;
// -1 if there is no such quote.
func unquote(text []byte) (s []byte, end int) {
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			return s, i + 1
		case c == '\\' && i+1 < len(text):
			i++
			s = append(s, text[i])
		default:
			s = append(s, c)
		}
	}
	return nil, -1
}

// appendCut appends at most size bytes of a string as a literal of C, with dots behind it if there
// is more.
func appendCut(b, s []byte, size int, more bool) []byte {
	if len(s) > size {
		s, more = s[:size], true
	}
	b = append(appendLiteral(append(b, '"'), s), '"')
	if more {
		b = append(b, "..."...)
	}
	return b
}

// appendLiteral appends the characters of a string. Those that are not printable are octal numbers,
// as short as C allows.
func appendLiteral(b, s []byte) []byte {
	for i := 0; i < len(s); {
		c := s[i]
		if c >= utf8.RuneSelf {
			r, n := utf8.DecodeRune(s[i:])
			if r != utf8.RuneError && escape.Visible(r) {
				b = append(b, s[i:i+n]...)
				i += n
				continue
			}
		}
		i++
		if at := bytes.IndexByte([]byte("\n\t\r\v\f\"\\"), c); at >= 0 {
			b = append(b, '\\', `ntrvf"\`[at])
			continue
		}
		if c >= 0x20 && c < 0x7f {
			b = append(b, c)
			continue
		}
		digits := strconv.FormatUint(uint64(c), 8)
		if i < len(s) && s[i] >= '0' && s[i] <= '7' {
			digits = strconv.FormatUint(1<<9+uint64(c), 8)[1:]
		}
		b = append(append(b, '\\'), digits...)
	}
	return b
}

// signalCodes has the names of si_code: those of every signal, and those of a signal.
var (
	signalCodes = map[int]string{
		0: "SI_USER", 0x80: "SI_KERNEL", -1: "SI_QUEUE", -2: "SI_TIMER", -3: "SI_MESGQ", -4: "SI_ASYNCIO", -5: "SI_SIGIO", -6: "SI_TKILL",
	}
	codesOf = map[int][]string{
		catalog.SIGCHLD: {"CLD_EXITED", "CLD_KILLED", "CLD_DUMPED", "CLD_TRAPPED", "CLD_STOPPED", "CLD_CONTINUED"},
		catalog.SIGSEGV: {"SEGV_MAPERR", "SEGV_ACCERR", "SEGV_BNDERR", "SEGV_PKUERR"},
		catalog.SIGBUS:  {"BUS_ADRALN", "BUS_ADRERR", "BUS_OBJERR", "BUS_MCEERR_AR", "BUS_MCEERR_AO"},
		catalog.SIGFPE:  {"FPE_INTDIV", "FPE_INTOVF", "FPE_FLTDIV", "FPE_FLTOVF", "FPE_FLTUND", "FPE_FLTRES", "FPE_FLTINV", "FPE_FLTSUB"},
		catalog.SIGILL:  {"ILL_ILLOPC", "ILL_ILLOPN", "ILL_ILLADR", "ILL_ILLTRP", "ILL_PRVOPC", "ILL_PRVREG", "ILL_COPROC", "ILL_BADSTK"},
		catalog.SIGTRAP: {"TRAP_BRKPT", "TRAP_TRACE", "TRAP_BRANCH", "TRAP_HWBKPT", "TRAP_UNK"},
		catalog.SIGSYS:  {"SYS_SECCOMP", "SYS_USER_DISPATCH"},
	}
)

// signalCode returns the name of the si_code of a signal, or the number.
func signalCode(d *posixtrace.SignalData) string {
	if s := signalCodes[d.Code]; s != "" {
		return s
	}
	if list := codesOf[d.Signal]; d.Code >= 1 && d.Code <= len(list) {
		return list[d.Code-1]
	}
	return strconv.Itoa(d.Code)
}
