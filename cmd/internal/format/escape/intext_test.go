package escape

import "testing"

// Text is shown as it was printed. In a name, what could be taken for something else is escaped.
func TestAppendText(t *testing.T) {
	for _, s := range []string{
		"⚠️ 1️⃣ ©︎ ✔️ ↔️", "👩\u200d🔬 🏳️\u200d🌈 👋🏽 👨\u200d👩\u200d👧\u200d👦 🧑🏽\u200d🚀", "می\u200cخواهم", "क्\u200dष न्\u200d", "葛\U000e0100",
		"全角　空白", "10\u00a0km 1\u202f000", "\ue0b0 \uf121 \U000f0a1e", "⠋⠀", "\ufffd", "\U0001faff",
	} {
		if got := string(AppendText(nil, s)); got != s {
			t.Errorf("AppendText(%q) = %s", s, got)
		}
		if got := string(AppendLine(nil, s)); got != s {
			t.Errorf("AppendLine(%q) = %s", s, got)
		}
	}
	for _, s := range []string{"⚠️", "👩\u200d🔬", "می\u200cخواهم", "क्\u200dष", "葛\U000e0100", "全角　", "10\u00a0km", "\ue0b0", "⠀", "\ufffd"} {
		if got := string(Append(nil, s)); got == s {
			t.Errorf("Append leaves %q", s)
		}
	}
	for _, tt := range []struct{ in, want string }{
		{"ls\u200d", `ls\xe2\x80\x8d`}, {"l\u200cs", `l\xe2\x80\x8cs`}, {"1\ufe0f", `1\xef\xb8\x8f`}, {"a\ufe0fb", `a\xef\xb8\x8fb`}, {"\ufe0f", `\xef\xb8\x8f`},
		{"⚠\ufe0f\ufe0f", "⚠\ufe0f" + `\xef\xb8\x8f`}, {"⚠\u200d", `⚠\xe2\x80\x8d`}, {"\u200d⚠", `\xe2\x80\x8d⚠`}, {"⚠\u200da", `⚠\xe2\x80\x8da`},
		{"م\u200c", `م\xe2\x80\x8c`}, {"م\u200cb", `م\xe2\x80\x8cb`}, {"م\u200c\u200cم", `م\xe2\x80\x8c\xe2\x80\x8cم`}, {"\xff\ufe0f", `\xff\xef\xb8\x8f`}, {"\xff\u200d⚠", `\xff\xe2\x80\x8d⚠`},
		{"a\u202eb\u2066\u200b\u00ad\u2060\u200f", `a\xe2\x80\xaeb\xe2\x81\xa6\xe2\x80\x8b\xc2\xad\xe2\x81\xa0\xe2\x80\x8f`}, {"\u2028\u3164\u115f\u034f", `\xe2\x80\xa8\xe3\x85\xa4\xe1\x85\x9f\xcd\x8f`},
		{"🏴\U000e0067\U000e007f", `🏴\xf3\xa0\x81\xa7\xf3\xa0\x81\xbf`}, {"\u009b2J\x9b", `\xc2\x9b2J\x9b`},
	} {
		if got := string(AppendText(nil, tt.in)); got != tt.want {
			t.Errorf("AppendText(%q) = %s, want %s", tt.in, got, tt.want)
		}
	}
	for _, tt := range []struct{ in, text, line, cell string }{
		{"\"a\\\"\t\r\n", `\"a\\\"\t\x0d\n`, "\"a\\\"\t\\r\\n", `"a\" \r\n`},
	} {
		for how, got := range map[string][2]string{"AppendText": {tt.text, string(AppendText(nil, tt.in))}, "AppendLine": {tt.line, string(AppendLine(nil, tt.in))}, "AppendCell": {tt.cell, string(AppendCell(nil, tt.in))}} {
			if got[0] != got[1] {
				t.Errorf("%s(%q) = %s, want %s", how, tt.in, got[1], got[0])
			}
		}
	}
}
