package catalog

import (
	"strings"
	"sync"
)

// known has the words of names that are the same in each run: those that are frequent in the names of
// files.
var known = sync.OnceValue(func() map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(words) {
		m[w] = true
	}
	return m
})

const words = `
	abi account action active actor adapter add address admin after agent alias all alpha amd64 analysis android any
	apache api app application apply apt arch archive arg args arm arm64 array artifact artifacts asm assembly asset
	assets ast async atomic attempt audio audit auth author auto backend background backup bad bar base base64 bash batch
	baz bench benchmark beta big bin binary bind bindings bit black blob block blue board book boot bootstrap box branch
	browser bucket buffer bug build builddir builder bundle bus button bytes cache calc call cap capture card case cat
	cert certificate certs change changelog changes channel chart chat check checkout child chrome chromium class classes
	clean cli client clipboard clock clone cloud cluster cmake cmd code codec color column command commands comment commit
	common compare compile compiler component compose compress conf config configuration connect connection console
	constants container content context control convert cookie copy core count counter cover coverage cpp cpu crash create
	credentials cron crypto css csv curl current custom daemon dart dash dashboard data database date day dbus deb debian
	debug dec decode default delete demo deno dep deploy deployment deps desktop dest detail details dev device devices
	diagnostic diff dir direct directory dirs disable disk dispatch display dist doc docker docs document domain dotnet
	down download driver dummy dump dynamic eclipse edge edit editor elf email empty emulator enable encode end endpoint
	engine entry env environment err error errors etc event events example examples exception exec exit expect expected
	export ext extension extensions extern external extra factory fail failed failure fake fast feature fetch field fields
	fifo file files filter final find firefox first fish fix fixture flag flags flow folder font foo form format forward
	frame framework free from front full func function fuzz game gcc gdb gen general generate generated generator generic
	get git github glob global gnu golang golden good graph green grep group guest gui guide gzip hammer handler hash head
	header headers health heap hello help helper hidden high history home hook hooks host hosts hour html http https icon
	icons ide idea image images img import inc include index info ini init inner input insert install installer instance
	int integration interface internal invalid ipc item items java job jobs join journal json jsonl junit just jvm kernel
	key keyboard keys kind kit kotlin kube label lang last latest launch layer layout ldd left legacy level lib library
	libs license light limit line lines link lint linux list listen lite live load loader local locale location lock locks
	log logfile logger login logs long loop low mac machine macos mail main make makefile man manager manifest manual map
	mark markdown master match maven max media member memory menu merge message messages meta metadata metrics mib middle
	migrate min minimal misc missing mix mobile mock mod mode model module modules monitor mono month mount mouse move
	movie mp3 mp4 msg multi music mux my myapp mysql name names native net network new news next nginx node none normal
	note notes npm null number object objects off offline offset old one open openssl option options oracle order org
	original other out outdir outer output overlay override owner pack package packages page pages pair panel parallel
	param params parent parse parser part partial parts pass passwd password patch path pause pdf pem perf perl photo php
	picture pid pids ping pip pipe pipeline pixel pkg place plain plan platform play player plugin plugins png pod point
	policy pool port post postgres power prefix preload prepare preview print printer private pro probe proc process
	processed prod product production profile program progress project prompt proof properties proto proxy pub public pull
	push pytest python python2 python3 query queue quick quiet race random range rank rate raw read reader readme real
	rebuild receive recent record recover red redis ref refresh register registry release reload remote remove rename
	render rep repeat replace replay report reports repository request requests require reset resolver resource resources
	response rest restart restore result results retry return review rewrite right role roll root rootfs rotate round
	route router row rows rpc rpm rsa rst rsync rtl ruby rule rules run runner running runtime rust safe sample samples
	sandbox sass save scan schema scope score screen screenshot script scripts scroll sdk seal search second secret
	secrets section secure security seed select self send sequence server servers service services session sessions set
	settings setup shader shadow shape share shared shell shim short show shutdown side sign signal simple single site
	size skip slave slice slim slot slow small smoke snap snapshot sock socket soft software some song sort sound source
	sources space span spec speed split spool sql sqlite src ssh ssl stack stage staging stamp standard start state static
	stats status stderr stdin stdout step steps stop storage store story stream strict string strings struct stub style
	sub subject submit success sudo suite sum summary svc svg swap swift switch symbol symbols sync syntax sys syscall
	system systemd table tables tag tags tail tap tar target targets task tasks tcp team temp tempdir tempfile template
	templates temporary term terminal test testcase testdata tester testing tests text theme then third thread threads
	three time timeline timeout timer times title tls tmp tmpdir tmpfile tmpfs tmux token tokens toml tool tools top topic
	torch total trace traces track tracker train transfer transform trash tree trigger trim try tsv tty two txt type types
	udp ui uid unit unix unknown unpack unused update updates upgrade upload upper uri url usage usb use user users usr
	util utils uuid val valid validate value values var vault vendor verify version versions video view views vim virtual
	visual volume wait walk war warn warning warnings wasm watch watcher wav web webpack webserver week welcome wheel
	white widget width window windows wine work workdir worker workers workflow workspace world wrap wrapper write writer
	www x11 x86 xml xvfb xxx yaml yarn year yml zero zip zone zsh zst zstd
`

// separates reports whether a character stands between the words of a name.
func separates(r rune) bool { return strings.ContainsRune("-_.+~@%#^", r) }

// wordsOnly reports whether a name consists of words. One part of it before its extension may be loose:
// of one or two characters, of two words, or a word with one or two digits behind it.
func wordsOnly(name string) bool {
	loose := 0
	for _, part := range strings.FieldsFunc(strings.TrimSuffix(name, Extension(name)), separates) {
		switch {
		case isKnown(part) || strings.IndexFunc(part, beyondASCII) >= 0:
		case len(part) <= maxDigits:
			loose++
		default:
			text := strings.TrimRight(part, "0123456789")
			digits := len(part) - len(text)
			n := wordsOf(text)
			if n == 0 || digits > maxDigits {
				return false
			}
			loose += n - 1 + min(digits, 1)
		}
	}
	return loose <= 1
}

func beyondASCII(r rune) bool { return r >= 0x80 }

// wordsOf returns 1 if a text is a word, 2 if it is two words or words in camel case, else 0.
func wordsOf(text string) int {
	if isKnown(text) {
		return 1
	}
	for text != "" {
		n := 1
		for n < len(text) && (isUpper(text[n]) == isUpper(text[n-1]) || n == 1 && !isUpper(text[n])) {
			n++
		}
		if word := strings.ToLower(text[:n]); !isLong(word) && !isTwo(word) {
			return 0
		}
		text = text[n:]
	}
	return 2
}

// isKnown reports whether a text is a word, in upper case, in lower case, or with a capital.
func isKnown(s string) bool {
	lower := strings.ToLower(s)
	return known()[lower] && (s == lower || s[1:] == lower[1:] || s == strings.ToUpper(s))
}

func isUpper(c byte) bool { return 'A' <= c && c <= 'Z' }

// isLong reports whether a text is a word that hardly is one by chance, beside others.
func isLong(s string) bool { return len(s) >= 4 && known()[s] }

func isTwo(s string) bool {
	for i := range s {
		if isLong(s[:i]) && isLong(s[i:]) {
			return true
		}
	}
	return false
}
