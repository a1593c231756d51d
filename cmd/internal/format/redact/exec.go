package redact

import (
	"strings"

	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// Exec replaces the matches in what a program was executed with, and returns their number. cut: only the
// beginning of the last argument is known.
func (s *Set) Exec(d *posixtrace.ExecData, cut bool) (n int) {
	if s == nil {
		return 0
	}
	words := []Word{{Text: []byte(d.Path)}}
	for _, a := range d.Argv {
		words = append(words, Word{Text: []byte(a)})
	}
	words[len(words)-1].Cut = cut
	texts, n := s.Words(words)
	if n > 0 {
		d.Path = string(texts[0])
		for i, text := range texts[1:] {
			d.Argv[i] = string(text)
		}
	}
	for _, text := range [...]*string{&d.Dir, &d.Stdin, &d.Stdout, &d.Stderr} {
		if *text != "" {
			b, k := s.Bytes([]byte(*text))
			*text, n = string(b), n+k
		}
	}
	for _, list := range [...]*[]string{&d.Environment, &d.Unset} {
		var k int
		*list, k = s.Strings(*list)
		n += k
	}
	return n
}

// Variable returns a variable of an environment, NAME=VALUE, without its value if the name says that this is a
// secret.
func Variable(v string) string {
	name, _, _ := strings.Cut(v, "=")
	upper := strings.ToUpper(name)
	for _, word := range secretNames {
		if strings.Contains(upper, word) {
			return name + "=" + Mark
		}
	}
	return v
}

// secretNames are parts of the names of variables that have secrets.
var secretNames = []string{"PASSW", "PASSPHRASE", "PASSCODE", "SECRET", "TOKEN", "CREDENTIAL", "AUTH", "COOKIE", "SESSION", "PRIVATE", "APIKEY", "API_KEY",
	"ACCESS_KEY", "ACCESSKEY", "SIGNING_KEY", "ENCRYPTION_KEY", "MASTER_KEY", "DEPLOY_KEY", "SSH_KEY", "PGP_KEY", "GPG_KEY", "WEBHOOK", "CONNECTION_STRING", "_DSN", "_PAT", "_PWD", "PGPASS"}
