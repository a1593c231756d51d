package output

import (
	"testing"

	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// Losses, failures and standard error have colours of their own, names that of their class.
func TestPaints(t *testing.T) {
	paint := func(letter string) Paint { return Paint{On: "<" + letter, Off: ">"} }
	text := &Text{Style: NoTime, Paints: &Paints{System: paint("S"), User: paint("U"), Stderr: paint("E"), Failure: paint("F")}}
	text.Note = func(_ *Source, rec *posixtrace.Record) Note {
		return Note{Text: string(rec.Data), Failed: string(rec.Data) == "7"}
	}
	for _, tt := range []struct {
		id   posixtrace.EventID
		data string
		want string
	}{
		{33, "", "1 <Ubuild.begin>\n"},
		{33, "7", "1 <Fbuild.begin \"7\"> 7\n"},
		{33, "x", "1 <Ubuild.begin> \"x\" x\n"},
		{posixtrace.EventOverflow, "", "1 <Fposix_trace_overflow>\n"},
		{posixtrace.EventResume, "", "1 <S#6>\n"},
		{posixtrace.EventError, "", "1 <Fposix_trace_error>\n"},
		{posixtrace.EventProcExit, "", "1 <Sproc.exit>\n"},
	} {
		got := string(text.Append(nil, testSource(), &posixtrace.Record{EventInfo: posixtrace.EventInfo{ID: tt.id, PID: 1}, Data: []byte(tt.data)}))
		if got != tt.want {
			t.Errorf("%d %q: got %q, want %q", tt.id, tt.data, got, tt.want)
		}
	}
}
