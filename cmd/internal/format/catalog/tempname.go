// Paths of temporary files in text: which of their names differ from run to run.

package catalog

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
)

// directories are where programs put temporary files. A path of its own stands for each name that is
// "*".
var directories = [][]string{
	{"tmp"}, {"var", "tmp"}, {"usr", "tmp"}, {"dev", "shm"}, {"dev", "fd"}, {"run", "user", "*"},
	{"private", "tmp"}, {"private", "var", "tmp"}, {"var", "folders", "*", "*", "T"}, {"private", "var", "folders", "*", "*", "T"},
}

// chosen is $TMPDIR with a slash at its end, "" if it is unset or no directory of its own.
var chosen = func() string {
	dir := filepath.Clean(os.Getenv("TMPDIR"))
	if !filepath.IsAbs(dir) || strings.Count(dir, "/") < 2 {
		return ""
	}
	return dir + "/"
}()

// TemporaryPath returns the length of the path of a temporary directory at the start of s, with a slash, and
// that of the whole path of which this is the start. It returns 0 if s does not begin so, or if nothing
// follows.
func TemporaryPath[T string | []byte](s T) (dir, path int) {
	if len(s) == 0 || s[0] != '/' {
		return 0, 0
	}
	if n := len(chosen); n > 0 && len(s) >= n && string(s[:n]) == chosen {
		dir = n
	}
	for _, names := range directories {
		dir = max(dir, below(s, names))
	}
	if dir == 0 || TemporaryName(s[dir:]) == 0 {
		return 0, 0
	}
	path = dir
	for {
		path += TemporaryName(s[path:])
		if path == len(s) || s[path] != '/' {
			return dir, path
		}
		path++
	}
}

// TemporaryDirectories returns a regular expression for the path of a temporary directory, without a slash at its
// end.
func TemporaryDirectories() string {
	var list []string
	if chosen != "" {
		list = append(list, regexp.QuoteMeta(strings.TrimSuffix(chosen, "/")))
	}
	for _, names := range directories {
		path := ""
		for _, name := range names {
			if name == "*" {
				path += `/[^/\s"']+`
			} else {
				path += "/" + regexp.QuoteMeta(name)
			}
		}
		list = append(list, path)
	}
	return "(?:" + strings.Join(list, "|") + ")"
}

// below returns the length of the directory of these names at the start of s, with a slash, or 0.
func below[T string | []byte](s T, names []string) int {
	at := 0
	for _, name := range names {
		at++ // a slash
		n := len(name)
		if name == "*" {
			n = TemporaryName(s[at:])
		}
		if n == 0 || at+n >= len(s) || s[at+n] != '/' || name != "*" && string(s[at:at+n]) != name {
			return 0
		}
		at += n
	}
	return at + 1
}

// TemporaryName returns the length of the name of a file at the start of s. What ends a path in the text of a
// message or of a command ends the name.
func TemporaryName[T string | []byte](s T) int {
	for i := range len(s) {
		if c := s[i]; c <= ' ' || c == 0x7f || strings.IndexByte("/\"'`\\:;,()<>|&=*?[]{}$!", c) >= 0 {
			return i
		}
	}
	return len(s)
}

// maxDigits is how many digits a name may have that is the same in each run. A process id may have more.
const maxDigits = 2

// Random reports whether the name of a file in a temporary directory may differ from run to run: it
// has a part that is no common word and no number of one or two digits. mktemp(1), mkstemp(3),
// os.MkdirTemp of Go, the tempfile of Python, File.createTempFile of Java and all others put letters or
// digits at random into a name; so does a process id. That these make a word has a probability of 1e-5.
func Random(name string) bool {
	return !strings.HasPrefix(name, "@") && (isPython(name) || !wordsOnly(name))
}

// isPython reports whether a name begins as one of the tempfile of Python, which may consist of short
// parts.
func isPython(name string) bool {
	const prefix, random = "tmp", 8
	if len(name) < len(prefix)+random || name[:len(prefix)] != prefix {
		return false
	}
	return strings.Trim(name[len(prefix):len(prefix)+random], "abcdefghijklmnopqrstuvwxyz0123456789_") == ""
}

// common are the forms of random names that well-known programs use.
var common = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^\.?tmp[-._]?[A-Za-z0-9_]{6,}|^cc[A-Za-z0-9]{6}\.|[0-9]{6}`)
})

// Surely reports whether a name is random that is not the first one in a temporary directory, where most
// names are those of a project.
func Surely(name string) bool {
	if number, ok := strings.CutPrefix(name, "pytest-"); ok && strings.Trim(number, "0123456789") == "" {
		return true
	}
	return Random(name) && common().MatchString(name)
}

// IsDirectory reports whether a directory of this name is one for temporary files, wherever it is.
func IsDirectory(name string) bool {
	switch name {
	case "tmp", "temp", ".tmp", "TMP", "TEMP", "Temp":
		return true
	}
	return false
}

// Extension returns the end of a name that tells what a file is: ".s", ".log", or "". The end of a random
// name is none.
func Extension(name string) string {
	dot := strings.LastIndexByte(name, '.')
	if dot <= 0 {
		return ""
	}
	switch word := name[dot+1:]; {
	case word == "" || strings.Trim(word, "0123456789") == "":
	case len(word) <= 2 || known()[strings.ToLower(word)]:
		return name[dot:]
	}
	return ""
}
