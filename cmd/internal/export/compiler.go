package export

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// compilation is a compiler that ran, with the arguments that it got, and the sources that it compiled.
type compilation struct {
	args    []string // the first is the compiler
	sources []int    // which of args
	output  string   // "" if there is none, or the sources have several
}

// compilers matches the names of compilers of the C family, also for other targets and with a version.
var compilers = regexp.MustCompile(`^(?:[\w.+]+-)*(?:cc|c\+\+|gcc|g\+\+|clang|clang\+\+|c89|c99|tcc|icc|icpc|icx|icpx|emcc|em\+\+)(?:-\d+(?:\.\d+)*)?(?:\.exe)?$`)

// launchers run the compiler that their arguments name.
var launchers = []string{"ccache", "distcc", "sccache", "icecc", "buildcache"}

// compilerOf returns the arguments of a compiler, nil if a program is none.
func compilerOf(d *posixtrace.ExecData) []string {
	args := slices.Clone(d.Argv)
	if len(args) == 0 {
		return nil
	}
	// The kernel executes a script by its interpreter.
	if i := slices.Index(args[1:min(len(args), 3)], d.Path); i >= 0 && strings.Contains(args[0], "/") {
		args = args[i+1:]
	}
	if path.IsAbs(d.Path) {
		args[0] = d.Path
	}
	for slices.Contains(launchers, path.Base(args[0])) {
		n := 1
		for n < len(args) && strings.Contains(args[n], "=") && !strings.HasPrefix(args[n], "-") {
			n++ // of ccache: KEY=VALUE
		}
		if n >= len(args) || strings.HasPrefix(args[n], "-") {
			return nil
		}
		args = args[n:]
	}
	if !compilers.MatchString(path.Base(args[0])) {
		return nil
	}
	return args
}

// compilationOf returns what a compiler compiled, nil if that is nothing. expand returns the arguments in a response
// file.
func compilationOf(args []string, expand func(name string) ([]string, bool)) *compilation {
	c := &compilation{args: expandAll(args, expand)}
	if !c.parse() {
		return nil
	}
	return c
}

// maxResponseFiles bounds how many response files a command may have, maxArguments up to how many arguments they
// are replaced, and maxSources how many of the sources have an entry.
const (
	maxResponseFiles = 100
	maxArguments     = 1 << 16
	maxSources       = 1 << 10
)

// expandAll replaces response files, @FILE, by what is in them, which may be response files too.
func expandAll(args []string, expand func(string) ([]string, bool)) (all []string) {
	left := maxResponseFiles
	for len(args) > 0 {
		arg := args[0]
		args = args[1:]
		if name, ok := strings.CutPrefix(arg, "@"); ok && name != "" && left > 0 && len(all)+len(args) < maxArguments {
			left--
			if inner, ok := expand(name); ok {
				args = slices.Concat(inner, args)
				continue
			}
		}
		all = append(all, arg)
	}
	return all
}

// parse finds the sources and the output. It reports false if the command compiles nothing.
func (c *compilation) parse() bool {
	language, onlyFiles, compiles, outputs := "", false, false, 0
	for i := 1; i < len(c.args); i++ {
		arg := c.args[i]
		switch {
		case arg == "":
		case !onlyFiles && arg[0] == '-' && arg != "-":
			switch {
			case arg == "--":
				onlyFiles = true
			case slices.Contains(noCompilation, arg):
				return false
			case arg == "-c", arg == "-S", arg == "-fsyntax-only":
				compiles = true
			case arg == "-x" && i+1 < len(c.args):
				i++
				language = c.args[i]
			case strings.HasPrefix(arg, "-x"):
				language = arg[2:]
			case strings.HasPrefix(arg, "--language="):
				language = strings.TrimPrefix(arg, "--language=")
			case arg == "-o" && i+1 < len(c.args):
				i++
				c.output = c.args[i]
				outputs++
			case strings.HasPrefix(arg, "-o") && !slices.Contains(separate, arg):
				c.output = arg[2:]
				outputs++
			case slices.Contains(separate, arg):
				i++
			}
		case arg != "-" && len(c.sources) < maxSources && isSource(arg, language):
			c.sources = append(c.sources, i)
		}
	}
	if !compiles || len(c.sources) > 1 || outputs > 1 {
		c.output = ""
	}
	return len(c.sources) > 0
}

// noCompilation are the options of a compiler that compiles nothing: that only preprocesses, and the compilers that
// a compiler runs.
var noCompilation = []string{"-E", "-M", "-MM", "-cc1", "-cc1as", "-cc1gen-reproducer", "-###", "--preprocess", "--help", "--version"}

// separate are the options whose argument is the next one.
var separate = []string{
	"-I", "-D", "-U", "-L", "-l", "-T", "-u", "-z", "-e", "-B", "-A", "-G", "-F", "-b", "-include", "-imacros", "-isystem", "-iquote", "-idirafter", "-iprefix",
	"-iwithprefix", "-iwithprefixbefore", "-isysroot", "-imultilib", "-imultiarch", "-iframework", "-ivfsoverlay", "-include-pch", "-isystem-after", "-cxx-isystem",
	"-MF", "-MT", "-MQ", "-MJ", "-Xlinker", "-Xassembler", "-Xpreprocessor", "-Xclang", "-Xarch_host", "-Xarch_device", "-Xopenmp-target", "-Xanalyzer", "-Xcuda-ptxas", "-Xcuda-fatbinary",
	"-aux-info", "-arch", "-target", "--target", "--param", "-param", "--sysroot", "-specs", "-dumpbase", "-dumpbase-ext", "-dumpdir", "-wrapper", "-mllvm", "-gcc-toolchain",
	"-framework", "-weak_framework", "-bundle_loader", "-install_name", "-current_version", "-compatibility_version", "-rpath", "-working-directory", "-resource-dir",
	"-serialize-diagnostics", "--serialize-diagnostics", "-index-store-path", "-assert", "-dependency-file", "-main-file-name", "-plugin",
	"--include", "--include-directory", "--include-directory-after", "--include-prefix", "--include-with-prefix", "--imacros", "--define-macro", "--undefine-macro",
	"--library-directory", "--for-linker", "--for-assembler", "--prefix", "--assert", "--output", "-fplugin-arg", "-segprot", "-sectcreate", "-exported_symbols_list", "-force_load", "-filelist",
}

// isSource reports whether a compiler compiles a file, by the language that an option names, or else by its name.
func isSource(name, language string) bool {
	switch language {
	case "", "none":
		return slices.Contains(suffixes, path.Ext(name))
	case "cpp-output", "c++-cpp-output", "objective-c-cpp-output", "objective-c++-cpp-output", "ir", "ast", "f77", "f95", "go", "d", "ada":
		return false
	}
	return true
}

// suffixes are those of sources. What a preprocessor has written is none.
var suffixes = []string{".c", ".C", ".cc", ".cp", ".cxx", ".cpp", ".CPP", ".c++", ".m", ".mm", ".M", ".S", ".s", ".sx", ".cu", ".hip", ".cppm", ".cxxm", ".ccm", ".c++m", ".ixx"}

// of returns the arguments for one of the sources: without the others.
func (c *compilation) of(source int) (args []string) {
	others := c.sources
	for i, arg := range c.args {
		if len(others) > 0 && others[0] == i {
			if others = others[1:]; i != source {
				continue
			}
		}
		args = append(args, arg)
	}
	return args
}

// maxResponse bounds a response file.
const maxResponse = 1 << 20

// readResponse returns the arguments in a response file, as gcc reads it: blanks separate them, quotes and
// backslashes keep characters together. The file may have changed since, or be gone.
func readResponse(dir, name string) ([]string, bool) {
	if !filepath.IsAbs(name) {
		name = filepath.Join(dir, name)
	}
	st, err := os.Lstat(name) // no device, no named pipe; no link, since a log names it
	if err != nil || !st.Mode().IsRegular() || st.Size() > maxResponse {
		return nil, false
	}
	b, err := os.ReadFile(name)
	if err != nil || len(b) > maxResponse {
		return nil, false
	}
	return splitResponse(string(b)), true
}

func splitResponse(text string) (args []string) {
	var word strings.Builder
	quote, inside := byte(0), false
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case c == '\\' && i+1 < len(text):
			i++
			word.WriteByte(text[i])
			inside = true
		case quote != 0 && c == quote:
			quote = 0
		case quote != 0:
			word.WriteByte(c)
		case c == '\'' || c == '"':
			quote, inside = c, true
		case strings.IndexByte(" \t\n\r\v\f", c) >= 0:
			if inside {
				args = append(args, word.String())
				word.Reset()
			}
			inside = false
		default:
			word.WriteByte(c)
			inside = true
		}
	}
	if inside {
		args = append(args, word.String())
	}
	return args
}
