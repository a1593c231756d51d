// Package hostile holds hostile input for the tests of all packages: texts that a terminal, a
// spreadsheet or a JSON parser would act on, and damaged logs with correct checksums. Only
// tests import it.
package hostile

import "strings"

// Texts returns texts that can be names or data of events.
func Texts() []string {
	var all strings.Builder
	var texts []string
	for c := range 256 {
		all.WriteByte(byte(c))
		texts = append(texts, "a"+string([]byte{byte(c)})+"b")
	}
	texts = append(texts, all.String())
	for r := rune(0x80); r < 0xa0; r++ { // C1 as characters
		texts = append(texts, "a"+string(r)+"31mb")
	}
	return append(texts,
		// Control sequences of terminals.
		"\x1b[2J\x1b[H", "\x1b[31mred\x1b[0m", "\x1b[?1049h", "\x1b[6n", "\x1b[>c", "\x1b]0;title\a", "\x1b]2;title\x1b\\",
		"\x1b]8;;http://example.com\x1b\\link\x1b]8;;\x1b\\", "\x1b]52;c;Y3VybA==\a", "\x1b]50;font\a", "\x1b]1337;File=:AAAA\a",
		"\x1bP$q\"p\x1b\\", "\x1bP+q544e\x1b\\", "\x1b_apc\x1b\\", "\x1b^pm\x1b\\", "\x1bXsos\x1b\\", "\x1bc", "\x1b#8", "\x1b(0lqk",
		"\x9b2J", "\x9d0;title\x9c", "\x90$q\x9c", "\x9fapc\x9c", "\u009b2J", "\u009d0;title\u009c",
		"shown\rother", "bell\a", "back\b\b\bX", "form\fvertical\v", "shift\x0e\x0f", "del\x7f", "nul\x00nul", "\x05", "\x11\x13",
		// Invisible characters, and those that reverse the text.
		"a\u202eb\u202c", "\u202da\u202c", "\u2066a\u2067b\u2068c\u2069", "\u200ea\u200fb\u061cc", "a\u200bb\u200cc\u200dd\u2060e\ufefff",
		"a\u00adb", "a\u034fb", "a\u180eb", "a\u115fb\u1160c\u3164d\uffa0e", "a\u2800b", "a\ufe0fb\U000e0100c", "\U000e0041\U000e007f",
		"a\u00a0b\u2003c\u3000d", "a\u2028b\u2029c\u0085d", "\ufff9a\ufffab\ufffb", "\U0001d173", "\ue000\U000f0000\U0010ffff", "a\u0301\u0302\u0303",
		// Parts of what programs print for a terminal, whole and not.
		"a\x1b[Kb\x1b[0K\x1b[2K", "\x1b(B\x1b[m", "OK\r", "OK\r\x1b[K", "10%\r20%", "\x1b[1G\x1b[0Ka\x1b[1G\x1b[0Kb", "\x1b[38:2::1:2:3mx\x1b[m", "\x1b[8mx\x1b[0m", "\x1b[1;08mx", "\x1b[38;5;8mx",
		"\x1b[?25la\x1b[?25h", "\x1b[J\x1b[3J", "a\x1b[", "a\x1b[38;5", "a\x1b]8;;http://x", "\x1b\x1b[K[2J", "\x1b\x1b[K]0;x\a", "\x0e\x0f", "\x1b[1;2Hx", "\x1b[>4;1m", "\x1b[?4m", "\x1b]8;;a\x1b[2Jb\x1b\\",
		// Characters that are invisible by themselves, where they belong and where not.
		"\u26a0\ufe0f 1\ufe0f\u20e3 \u00a9\ufe0e", "\U0001f469\u200d\U0001f52c \U0001f3f3\ufe0f\u200d\U0001f308 \U0001f44b\U0001f3fd", "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645", "\u0915\u094d\u200d\u0937 \u0d28\u0d4d\u200d", "\u845b\U000e0100",
		"\ufe0f\u200d\U0001f308", "1\ufe0f\u200d\U0001f308", "ls\u200d", "l\u200ds", "l\u200cs", "1\ufe0f", "a\ufe0f", "\u26a0\ufe0f\ufe0f", "\u26a0\u200d\u200d\u26a0", "\u26a0\u200d", "\u200d\u26a0", "\ufe0f", "\u0645\u200c", "\u0645\u200cb", "\U0001faff\U0001faf9",
		"\ue0b0\uf121", "10\u00a0km\u3000\u202f", strings.Repeat("\u0301", 300), "e"+strings.Repeat("\u0301", 2000),
		// Invalid or barely valid UTF-8.
		"\xff\xfe", "\x80", "\xc3", "\xc0\xaf", "\xc1\x9b", "\xe0\x80\xaf", "\xe0\x80\x9b", "\xf0\x80\x80\x9b", "\xf8\x88\x80\x80\x80", "\xed\xa0\x80\xed\xb0\x80",
		"\xf4\x90\x80\x80", "\xe2\x82", "\xf0\x9f\x98", "\ufffd", "\ufdd0\uffff", "a\xc2", "\xc2\x1b[2J", "\xe2\x80\x1b]0;x\a",
		// Formulas of spreadsheets.
		"=1+1", "+1+1", "-1+1", "@SUM(1)", "\t=1+1", "\r=1+1", "\n=1+1", " =1+1", "=cmd|' /C calc'!A0", "x;=1+1", "x; @SUM(1)", "x\t=1+1", "\"=1+1", "'=1+1", "\",=1+1",
		"\"\n=1+1", "\uff1d1+1", "\uff0b1", "\uff0d1", "\uff20SUM(1)", "-5", "+1.5", "-", "+", "--flag", "=", "-2+3+cmd|' /C calc'!A0",
		// Syntax of JSON, HTML, Markdown, shells, printf and CI runners.
		`"`, `\`, `\"`, `\u0000`, `","x":"`, `\\x1b`, `\x1b`, "</script><script>alert(1)</script>", "<img src=x onerror=alert(1)>", "<!--", "&lt;", "a|b|c", "[x](javascript:alert(1))",
		"::error::x", "##[error]x", "##vso[task.complete]", "##teamcity[testFailed name='x']", "travis_fold:start:x", "travis_time:start:x", "section_start:1:x\r\x1b[0K",
		"\x1b[8mha:////AAAA\x1b[0m", "--- x", "+++ x", "~~~ x", "^^^ +++", "%s%n%1000000d", "$(id)", "`id`", "; id", "| id", "../../etc/passwd", "-rf", "--", "-", "@all", "*", "?", "[!a]", "a,b", "a b", "#1", "NaN", "null", "1e999",
		// Long texts.
		strings.Repeat("\x1b[2J", 63), strings.Repeat("\u202e", 85), strings.Repeat("\xff", 255), strings.Repeat("x", 254), strings.Repeat("x", 255), strings.Repeat("x", 256), strings.Repeat("日", 1365)+"x", strings.Repeat("=", 4096),
		"",
	)
}
