package redact

import (
	"bytes"
	"slices"
	"strings"
	"testing"
)

// sample is a text with a secret that is made up: a prefix, and characters that repeat.
type sample struct {
	before, secret, after string
}

func (s sample) text() string { return s.before + s.secret + s.after }

func texts(list []sample) (out []string) {
	for _, s := range list {
		out = append(out, s.text())
	}
	return out
}

// filler returns n characters in turn.
func filler(n int, characters string) string {
	return strings.Repeat(characters, n/len(characters)+1)[:n]
}

const (
	mixed  = "aB3xY7qLm9Kd2"
	hex    = "0a1b2c3d4e5f6789"
	upper  = "A2B3C4D5QXZ"
	base64 = "aB3+x/Y7q"
)

// whole makes samples of tokens that a prefix begins.
func whole(n int, characters string, prefixes ...string) (list []sample) {
	for _, p := range prefixes {
		list = append(list, sample{secret: p + filler(n, characters)})
	}
	return list
}

// samples has each form that @tokens names.
var samples = slices.Concat(
	whole(36, mixed, "ghp_", "gho_", "ghu_", "ghs_", "ghr_"), whole(82, mixed+"_", "github_pat_"),
	whole(20, mixed+"-_", "glpat-", "gldt-", "glrt-", "glrtr-", "glcbt-64_", "glptt-", "glft-", "glimt-", "glsoat-", "glffct-", "glwt-", "GR1348941"),
	whole(50, mixed+"-_", "glagent-", "gloas-"), whole(32, hex, "_gitlab_session="), []sample{{secret: "glpat-" + filler(30, mixed) + ".01." + filler(9, mixed)}},
	whole(16, upper, "AKIA", "ASIA", "ABIA", "ACCA", "A3TX"), whole(120, base64, "ABSK"), whole(60, base64, "bedrock-api-key-"), whole(36, hex, "amzn.mws."),
	whole(200, base64, "IQoJ", "FwoG", "FQoG"),
	[]sample{
		{"aws_", "secret_access_key = " + filler(40, base64), "\n"}, {"", "SecretAccessKey\": \"" + filler(40, base64), "\""},
		{"aws configure set aws_", "secret_access_key " + filler(40, base64), " --profile x"}, {"AWS_", "SECRET_ACCESS_KEY=" + filler(40, base64), ""},
		{`{"env":"{\"AWS_`, `SECRET_ACCESS_KEY\":\"` + filler(40, base64), `\"}"}`}, {`"{\\\"`, `secretAccessKey\\\": \\\"` + filler(40, base64), `\\\"`},
		{"<", "SecretAccessKey>" + filler(40, base64), "</SecretAccessKey>"},
	},
	whole(50, "123-aB", "xoxa-", "xoxb-", "xoxc-", "xoxe-", "xoxo-", "xoxp-", "xoxr-", "xoxs-", "xapp-1-", "xoxe.xoxp-1-"), whole(60, base64[:3]+"%2F", "xoxd-"),
	whole(44, "T0B0x/", "https://hooks.slack.com/services/", "hooks.slack.com/workflows/", "hooks.slack.com/triggers/"),
	whole(36, mixed, "npm_"), whole(70, mixed+"-_", "pypi-"), whole(48, hex, "rubygems_"), whole(43, "a1b2c3", "oy2"), whole(60, hex, "CLOJARS_"),
	whole(27, mixed+"-_", "dckr_pat_", "dckr_oat_"), whole(60, hex, "SWMTKN-1-"), whole(69, mixed, "AKCp"), whole(59, mixed, "cmVmd"),
	[]sample{
		{"//registry.npmjs.org/:", "_authToken=" + filler(36, hex+"-"), ""}, {"npm config set //npm.example.com/:", "_authToken " + filler(36, hex+"-"), ""},
		{"npm_config_", "_authToken=" + filler(30, mixed), ""}, {"", "_auth = \"" + filler(24, base64) + "==", "\""}, {"//x/", ":_password=" + filler(24, base64), ""},
		{`{"auths":{"x":{`, `"auth": "` + filler(24, base64) + "==", `"}}}`}, {`{\`, `"auth\":\"` + filler(24, base64), `\"}`},
	},
	whole(35, mixed+"-_", "AIza"), whole(60, mixed+"-_", "ya29."), whole(28, mixed+"-_", "GOCSPX-"), []sample{{"1", "//0" + filler(60, mixed+"-_"), ""}},
	[]sample{
		{"abc8", "Q~" + filler(34, mixed+"~._-"), ""}, {"", "AccountKey=" + filler(86, base64) + "==", ";x"}, {"", "SharedAccessKey=" + filler(44, base64), ""},
		{"https://x.blob.core.windows.net/c", "?sig=" + filler(44, base64+"%3D"), "&x"}, {"?sv=2022", "&sig=" + filler(44, base64+"%3D"), ""},
		{"", "t1." + filler(40, mixed) + "." + filler(86, mixed), ""}, {"", "v1.0-" + filler(24, hex) + "-" + filler(146, hex), ""},
	},
	whole(20, mixed, "LTAI"), whole(38, mixed, "AQVN", "YC"), whole(64, hex, "doo_v1_", "dop_v1_", "dor_v1_"), whole(60, mixed, "HRKU-AA"),
	whole(43, mixed+"-_", "fo1_"), whole(120, base64, "fm1a_", "fm1r_", "fm2_"), whole(48, mixed, "tk-us-"), whole(40, mixed, "nfp_"), whole(40, hex, "sbp_"),
	whole(43, mixed+".-", "pscale_tkn_", "pscale_oauth_", "pscale_pw_"), whole(40, mixed+"-", "tskey-auth-", "tskey-api-", "tskey-client-"),
	whole(60, mixed, "CCIPAT_"), whole(40, hex, "bkua_", "squ_", "sqp_", "sqa_", "sgp_", "sgp_0123456789abcdef_", "pul-"), whole(186, mixed+"-_=", "ATATT3", "ATCTT3"),
	whole(32, mixed, "ATBB", "BBDC-"), whole(100, mixed+"-_", "hvs.", "hvb.", "hvr."), []sample{{filler(14, mixed) + ".", "atlasv1." + filler(67, mixed), ""}},
	whole(43, mixed, "dp.pt.", "dp.st.prd.", "dp.ct.", "dp.sa.", "dp.scim.", "dp.audit."), []sample{{secret: "A3-" + filler(6, upper) + "-" + filler(11, upper) + "-ABCDE-FGHIJ-KLMNO"}},
	whole(250, base64, "ops_eyJ"), whole(58, "QPZRY9X8", "AGE-SECRET-KEY-1"), whole(32, hex, "dapi"), whole(26, upper, "API-"), whole(43, mixed+"-_", "sha256~"),
	[]sample{{secret: "pat." + filler(22, mixed) + "." + filler(24, mixed) + "." + filler(20, mixed)}, {secret: "sat." + filler(22, mixed) + "." + filler(24, mixed) + "." + filler(20, mixed)}},
	whole(32, mixed, "ico-"), whole(36, mixed, "pnu_"), whole(59, hex+"-", "PMAK-"),
	whole(93, mixed+"-_", "sk-ant-api03-", "sk-ant-admin01-", "sk-proj-", "sk-svcacct-", "sk-admin-", "sk-or-v1-", "nvapi-", "lsv2_pt_"), whole(48, mixed, "sk-", "pplx-"),
	whole(34, mixed, "hf_"), whole(34, "abCD", "api_org_"), whole(52, mixed, "gsk_"), whole(80, mixed, "xai-"), whole(37, mixed, "r8_"),
	whole(24, mixed, "sk_"+"live_", "rk_"+"live_", "sk_"+"prod_", "rk_"+"prod_", "sk_"+"test_", "rk_"+"test_"), whole(32, mixed, "whsec_"), whole(43, mixed+"-_", "sq0atp-", "sq0csp-"),
	whole(60, mixed+"-_", "EAAA"), whole(120, mixed, "EAAC", "EAAM"), whole(32, hex, "shpat_", "shpca_", "shppa_", "shpss_", "shptka_"), whole(40, hex, "shippo_live_", "shippo_test_"),
	whole(54, mixed, "EZAK", "EZTK"), whole(34, hex, "FLWSECK_TEST-", "FLWSECK-"), whole(43, mixed, "duffel_live_", "duffel_test_"),
	[]sample{{secret: "SG." + filler(22, mixed+"-_") + "." + filler(43, mixed+"-_")}, {"8123456789", ":AA" + filler(33, mixed+"-_"), ""}}, whole(32, hex, "key-", "SK"),
	[]sample{{secret: "xkeysib-" + filler(64, hex) + "-" + filler(16, mixed)}, {secret: "xsmtpsib-" + filler(64, hex) + "-" + filler(16, mixed)}},
	whole(80, "0123/"+mixed, "https://discord.com/api/webhooks/", "discordapp.com/api/webhooks/"), whole(90, hex+"-@/", "https://x.webhook.office.com/webhookb2/"),
	whole(60, mixed, "glc_", "eyJrIjoi"), whole(41, mixed+"_", "glsa_"), whole(27, upper, "NRAK-", "NRII-", "NRJS-", "NRAL-"),
	[]sample{{secret: "dt0c01." + filler(24, upper) + "." + filler(64, upper)}}, whole(64, mixed, "sntrys_", "sntryu_"), whole(40, mixed, "lin_api_", "lin_oauth_"), whole(46, mixed, "ntn_"),
	whole(43, mixed, "secret_"), whole(40, mixed+"-_", "figd_"), whole(135, mixed+"-_", "sl."), whole(32, mixed, "p8e-"), whole(80, mixed+".", "pk.eyJ", "sk.eyJ", "tk.eyJ"),
	whole(59, mixed+"-._", "tfp_"), whole(70, "a0b1", "rdme_"), whole(64, mixed+"-_", "fio-u-"), whole(43, mixed+"-_", "CFPAT-"), whole(79, mixed+"-_", "dnkey-"),
	whole(16, mixed, "sm_aat_", "sm_pat_", "sm_sat_"), whole(64, hex, "s-s4t2ud-", "s-s4t2af-"),
	[]sample{
		{secret: "eyJ" + "hbGciOiJIUzI1NiJ9.eyJ" + "zdWIiOiIxIn0.c2lnbmF0dXJl"},
		{"", "Authorization: Bearer " + filler(24, "t.k~"), ""}, {"", "authorization: Basic " + filler(12, base64), ""}, {"Proxy-", "Authorization: Basic " + filler(12, base64), ""},
		{`{"headers":"{\"`, `Authorization\":\"Bearer ` + filler(24, mixed), `\"}"}`}, {"map[", "Authorization:[Bearer " + filler(24, mixed), "]]"}, {"{'", "Authorization': 'token " + filler(24, mixed), "'}"},
		{"'", "Authorization', 'Bearer " + filler(24, mixed), "'"}, {"", "authorization=Bearer+" + filler(24, mixed), "&x"}, {"", "authorization=Bearer%20" + filler(24, mixed), "&x"},
		{"", "Bearer " + filler(20, mixed), ""}, {"", "PRIVATE-TOKEN: " + filler(20, mixed), ""}, {"", "JOB-TOKEN: " + filler(20, mixed), ""}, {`"{\"`, `X-Api-Key\": \"` + filler(20, mixed), `\"`},
		{"-H ", "X-Vault-Token:" + filler(20, mixed), ""}, {"https://x/api?", "private_token=" + filler(20, mixed), "&x"}, {`{"`, `access_token":"` + filler(40, mixed), `"}`}, {"", "client_secret=" + filler(40, mixed+"~"), ""},
		{"https", "://user:" + filler(8, "pa%20ss") + "@", "example.com/x"}, {"postgres", "://app:" + filler(12, "s3/cr@t#") + "@", "db:5432/x"}, {"amqp", "://u:/" + filler(9, "x7") + "@", "mq/vhost"},
		{"redis", "://:" + filler(9, "x7") + "@", "cache:6379/0"}, {"mysql", "://root:98769876@", "db/x"}, {`{"url":"https`, `:\/\/u:` + filler(9, "x7") + "@", `h\/x"}`}, {"http", "://a:12p/" + filler(9, "x7") + "@", "h:80/"},
		{secret: "-----BEGIN RSA PRIVATE " + "KEY-----\nMIIE\nabc=\n-----END RSA PRIVATE " + "KEY-----"}, {secret: "-----BEGIN OPENSSH PRIVATE " + "KEY-----\nb3Blbn"},
		{secret: "-----BEGIN PGP PRIVATE " + "KEY BLOCK-----\nlQ==\n-----END PGP PRIVATE " + "KEY BLOCK-----"}, {secret: "-----BEGIN PRIVATE " + `KEY-----\nMIIE\nabc=\n-----END PRIVATE ` + "KEY-----"},
	},
)

// ordinary texts have no secret, though some have parts of a form.
var ordinary = []string{
	"gcc -O2 -c -o x.o x.c", "see https://example.com:8080/a@b", "https://example.com/path?x=y@z", "git@github.com:owner/name.git", "ssh://git@host:22/x", "https://example.com:443",
	"http://host:8080?user=a@b", "https://[::1]:8080/x@y", "file:///a:b/c", "https://user@example.com/x", "go: example.com/x@v1.2.3", "docker://host:5000/img@" + "sha256:" + filler(64, hex),
	"the bearer of bad news", "authorization failed", "Authorization: $TOKEN", "npm_config_cache=/tmp", "_authToken=${NPM_TOKEN}", "http_auth=on", "basic_auth=disabled", "-----BEGIN CERTIFICATE-----",
	"-----BEGIN PUBLIC KEY-----", "task-live-1", "disk_test_performance", "risk_test_suite_configuration", "check_foo(task_bar)", "eyJust a word.eyJ", "sha256:" + filler(64, hex), filler(40, hex), filler(128, hex),
	"10:12:00 INFO started in 0.3 s", "glpat-short", "AKIASHORT", "rtsp://host:554/x", "path/to/pattern.c", "key-value store", "key-" + filler(31, hex), "the API-FIRST approach", "SKIPPED", "MASK0123456789abcdef",
	"secret_access_key must be set", "secret_access_key=$SECRET", "AWS_SECRET_ACCESS_KEY is not set", "client_secret=$X", "access_token: string", "sk-learn", "EZPZ", "pk.pem", "dp.c", "sl.py", "hvs.c", "a.sat.b",
	"dapifoo", "secret_store", "x?sig=1", "tskey-", "ABSKIP", "SG.1.2", "fm2_test", "r8_", "oy2", "xai-", "YCbCr", "NRAK", "Q~", "1//0 + 1", "// 0 comment", "//0x" + filler(16, hex), ":AAA", "ico-file", "NPM_TOKEN",
	"CCIP", "pypi-server", "xoxo-", "hf_hub", "sm_pat_short", "squ_are", "pat.1", "t1.x", "v1.0-rc1", "sha256~short", `"auth": "none"`, `"auth": true`, "12:34:56:AA:BB:CC", "fo1_", "IQoJ", "ghp_", "gho_st", "GR1348",
	"uuid 01234567-89ab-cdef-0123-456789abcdef", "lin_api_docs", "ops_team", "secret_" + filler(12, mixed), "pul-ley", "see discord.com/api/webhooks/", "hooks.slack.com/services/X", "AIzawa", "SWMTKN", "LTAI", "A3-B",
}

// The built-in set hides each form, and leaves ordinary output alone.
func TestTokens(t *testing.T) {
	s := mustNew(t, Tokens)
	if len(s.always) > 0 {
		t.Errorf("%d built-in patterns have no literal for the prefilter: %v", len(s.always), s.always)
	}
	for _, tt := range samples {
		want := "x " + tt.before + Mark + tt.after + " y"
		if strings.HasPrefix(tt.secret, "-----BEGIN OPENSSH") { // it has no end
			want = "x " + Mark
		}
		got, _ := s.Bytes([]byte("x " + tt.text() + " y"))
		if text := string(got); text != want && !(tt.before == "" && !longer(text, tt.secret)) {
			t.Errorf("%q: %q, want %q", tt.text(), got, want)
		}
	}
	for _, text := range ordinary {
		if got, n := s.Bytes([]byte(text)); n != 0 {
			t.Errorf("%q is no secret: %q", text, got)
		}
	}
	// Each form has a sample.
	for _, p := range s.list {
		if !slices.ContainsFunc(samples, func(tt sample) bool { return len(p.find(nil, []byte("x "+tt.text()+" y"))) > 0 }) {
			t.Errorf("no sample has the form %s", p.text)
		}
	}
}

// longer reports whether a text shows more than the scheme and the host of a secret that is a URL.
func longer(text, secret string) bool {
	return !strings.HasPrefix(secret, "https://") || longestCommon(text, secret) > len("https://x.")
}

// What a program does to a token on its way to a terminal hides nothing: colours within it, a hyperlink, characters
// that are struck twice or underlined, a return of the carriage where a line is full.
func TestTokensShown(t *testing.T) {
	s := mustNew(t, Tokens, "(?s)hunter.[0-9]{6}", `\bwordy\b`)
	changes := map[string]func(string) string{
		"grep": func(x string) string {
			return x[:len(x)/3] + "\x1b[01;31m\x1b[K" + x[len(x)/3:len(x)/2] + "\x1b[m\x1b[K" + x[len(x)/2:]
		},
		"every letter": func(x string) string {
			var b strings.Builder
			for _, c := range x {
				b.WriteString("\x1b[1m" + string(c) + "\x1b[0m")
			}
			return b.String()
		},
		"link":       func(x string) string { return x[:3] + "\x1b]8;;http://x/\x1b\\" + x[3:] + "\x1b]8;;\a" },
		"bold":       func(x string) string { return strings.Join(strings.Split(double(x, "%c\b%c"), ""), "") },
		"underlined": func(x string) string { return double(x, "_\b%c") },
		"wrapped":    func(x string) string { return x[:len(x)/2] + " \r" + x[len(x)/2:] },
		"returned":   func(x string) string { return x[:len(x)/2] + "\r" + x[len(x)/2:] },
		"charset":    func(x string) string { return x[:4] + "\x1b(B" + x[4:] },
		"corrected":  func(x string) string { return x[:4] + "zz\b\b" + x[4:] },
	}
	secrets := []string{"hunter\n123456", "wordy"}
	for _, tt := range samples {
		if tt.before == "" && tt.after == "" && !strings.Contains(tt.secret, "\n") && !strings.Contains(tt.secret, "://") {
			secrets = append(secrets, tt.secret)
		}
	}
	for name, change := range changes {
		for _, secret := range secrets {
			if strings.Contains(secret, "\n") && name == "underlined" || secret == "wordy" && name == "link" {
				continue
			}
			text := change(secret)
			for what, got := range map[string]string{
				"whole":  string(first(s.Bytes([]byte("a " + text + " b")))),
				"line":   string(first(s.NewLine().Next([]byte("a "+text+" b"), Ends))),
				"pieces": inPieces(s, "a "+text+" b", 7),
				"bytes":  inPieces(s, "a "+text+" b", 1),
			} {
				shown := plainOf([]byte(got), new(codes)).text
				limit := 3
				if what == "bytes" || what == "pieces" {
					limit = 6 // a piece whose end looks like that of the secret
				}
				if n := longestCommon(string(shown), secret); n > limit || limit == 3 && (!bytes.HasPrefix(shown, []byte("a ")) || !strings.HasSuffix(got, "b")) {
					t.Errorf("%s, %s: %q shows %d bytes of %q", name, what, got, n, secret)
				}
			}
		}
	}
	for _, text := range []string{"\x1b[1mbold\x1b[0m", "10%\r20%\r100%\r\n", "a\x1b]0;title\ab", "swordy\x1b[m", "\x1b[", "\x1b", "\b\b", "x\x1b]8;;", "\r"} {
		if got, n := s.Bytes([]byte(text)); n > 0 {
			t.Errorf("%q becomes %q", text, got)
		}
	}
}

func first(b []byte, _ int) []byte { return b }

// double writes each character in a form.
func double(x, form string) string {
	var b strings.Builder
	for _, c := range x {
		b.WriteString(strings.ReplaceAll(form, "%c", string(c)))
	}
	return b.String()
}

func inPieces(s *Set, text string, size int) string {
	l := s.NewLine()
	var out []byte
	for b := []byte(text); len(b) > 0; {
		k, more := min(size, len(b)), Continues
		if k == len(b) {
			more = Ends
		}
		piece, _ := l.Next(b[:k], more)
		out, b = append(out, piece...), b[k:]
	}
	return string(out)
}

// A secret whose name is one argument and whose value is the next is hidden, and so is a key that a shell has divided at its spaces.
// A pattern of the user is compared with single arguments.
func TestWords(t *testing.T) {
	key := "-----BEGIN RSA PRIVATE " + "KEY----- MIIEabcdefgh ijklmnop+/= -----END RSA PRIVATE " + "KEY-----"
	value := filler(40, base64)
	for _, tt := range []struct{ in, want string }{
		{"aws configure set aws_secret_access_key " + value, "aws configure set aws_*** ***"},
		{"echo " + key + " end", "echo *** *** *** *** *** *** *** *** *** *** end"},
		{"curl -H Authorization: Bearer " + value + " x", "curl -H *** *** *** x"},
		{"prog password=x file", "prog *** file"},
		{"prog --bearer token", "prog --bearer token"},
	} {
		got, n := mustNew(t, Tokens, "password=.*").Strings(strings.Fields(tt.in))
		if text := strings.Join(got, " "); text != tt.want || n == 0 != (tt.in == tt.want) {
			t.Errorf("%q becomes %q, %d; want %q", tt.in, text, n, tt.want)
		}
	}
}

// A private key whose first or last line is in two pieces, or coloured, is hidden like any other.
func TestKeyFrame(t *testing.T) {
	begin, end := "-----BEGIN EC PRIVATE "+"KEY-----", "-----END EC PRIVATE "+"KEY-----"
	for i := range begin {
		l := mustNew(t, Tokens).NewLine()
		var out []string
		put := func(b string, more More) { out = append(out, string(first(l.Next([]byte(b), more)))) }
		put("a "+begin[:i], Continues)
		put(begin[i:], Ends)
		put("MHcCAQEE", Ends)
		put("xyz==", Ends)
		put(end[:min(i, len(end)-1)], Continues)
		put(end[min(i, len(end)-1):], Ends)
		put("b", Ends)
		if text := strings.Join(out, "|"); strings.Contains(text, "MHc") || strings.Contains(text, "xyz") || !strings.HasSuffix(text, "|b") || !l.Idle() {
			t.Errorf("divided at %d: %q, idle %v", i, text, l.Idle())
		}
	}
	l := mustNew(t, Tokens).NewLine()
	for _, line := range []string{"-----\x1b[31mBEGIN\x1b[m EC PRIVATE " + "KEY-----", "MHcCAQEE"} {
		if got := first(l.Next([]byte(line), Ends)); bytes.Contains(got, []byte("BEGIN")) || bytes.Contains(got, []byte("MHc")) {
			t.Errorf("%q becomes %q", line, got)
		}
	}
}
