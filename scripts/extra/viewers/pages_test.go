package viewers

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
)

// catchSaved keeps the text of downloads that a page offers.
const catchSaved = `(() => {
	const make = URL.createObjectURL
	URL.createObjectURL = blob => {
		if (blob instanceof Blob) blob.text().then(text => { window.savedText = text })
		return make.call(URL, blob)
	}
})()`

// saveProfile presses the save button once a profile is shown.
const saveProfile = `(() => {
	if (window.savedText) return window.savedText
	if (document.title === 'speedscope') return ''
	window.dispatchEvent(new KeyboardEvent('keydown', {key: 's', ctrlKey: true}))
	return ''
})()`

// showNext presses the button for the next or previous lane repeatedly.
const showNext = `(async n => {
	for (; n; n -= Math.sign(n)) {
		window.dispatchEvent(new KeyboardEvent('keypress', {key: n > 0 ? 'n' : 'p'}))
		await new Promise(done => setTimeout(done, 50))
	}
})(%d)`

// A lane's name has its ids: "name (pid 1), name (tid 2)", or "name (pid 1, tid 2)".
var laneIDs = regexp.MustCompile(`\(?pid (\d+)\)?,.*tid (\d+)\)?$`)

// showSpeedscope loads a file and saves the profile as speedscope understood it.
func showSpeedscope(t *tab, url string) (*shown, error) {
	if _, err := t.call("Page.addScriptToEvaluateOnNewDocument", map[string]any{"source": catchSaved}); err != nil {
		return nil, err
	}
	if err := t.navigate(url + "#profileURL=../file.json"); err != nil {
		return nil, err
	}
	text, err := t.poll(saveProfile)
	if err != nil {
		return nil, err
	}
	var doc struct {
		Shared   struct{ Frames []struct{ Name string } }
		Active   int `json:"activeProfileIndex"`
		Profiles []struct {
			Name     string
			EndValue float64
			Events   []struct {
				Type  string
				At    float64
				Frame int
			}
		}
	}
	if err := json.Unmarshal([]byte(text), &doc); err != nil {
		return nil, err
	}
	s := &shown{lanes: map[lane][]slice{}}
	most := 0
	for i, p := range doc.Profiles {
		if len(p.Events) > len(doc.Profiles[most].Events) {
			most = i
		}
		ids := laneIDs.FindStringSubmatch(p.Name)
		if ids == nil {
			return nil, fmt.Errorf("lane %q", p.Name)
		}
		var l lane
		l.pid, _ = strconv.Atoi(ids[1])
		l.tid, _ = strconv.Atoi(ids[2])
		var open []slice
		for _, e := range p.Events {
			switch {
			case e.Type == "O":
				open = append(open, slice{name: doc.Shared.Frames[e.Frame].Name, at: nanos(e.At)})
			case len(open) == 0:
				return nil, errors.New("an end without a begin")
			default:
				last := open[len(open)-1]
				open = open[:len(open)-1]
				last.dur = nanos(e.At) - last.at
				s.lanes[l] = append(s.lanes[l], last)
			}
		}
		for _, o := range open {
			s.complaints = append(s.complaints, fmt.Sprintf("lane %v: %s has no end", l, o.name))
		}
	}
	// Take the picture of the lane with most slices.
	if _, err := t.call("Runtime.evaluate", map[string]any{"expression": fmt.Sprintf(showNext, most-doc.Active), "awaitPromise": true}); err != nil {
		return nil, err
	}
	return s, nil
}

// readModel reads the timeline's model of a file once it is shown.
const readModel = `(() => {
	const viewer = document.querySelector('#trace-viewer')
	if (!viewer || !viewer.model) return ''
	const model = viewer.model, threads = []
	for (const p of model.getAllProcesses())
		for (const t of Object.values(p.threads))
			threads.push({pid: p.pid, tid: t.tid,
				slices: t.sliceGroup.slices.map(s => ({name: s.title, at: s.start, dur: s.duration, open: !!s.didNotFinish}))})
	return JSON.stringify({warnings: model.importWarnings.map(w => w.type + ': ' + w.message), threads})
})()`

// showGo loads a file into the page of "go tool trace".
func showGo(t *tab, url string) (*shown, error) {
	if err := t.navigate(url); err != nil {
		return nil, err
	}
	text, err := t.poll(readModel)
	if err != nil {
		return nil, err
	}
	var doc struct {
		Warnings []string
		Threads  []struct {
			PID, TID int
			Slices   []struct {
				Name    string
				At, Dur float64 // in milliseconds
				Open    bool
			}
		}
	}
	if err := json.Unmarshal([]byte(text), &doc); err != nil {
		return nil, err
	}
	s := &shown{lanes: map[lane][]slice{}, complaints: doc.Warnings}
	for _, th := range doc.Threads {
		l := lane{th.PID, th.TID}
		for _, sl := range th.Slices {
			if sl.Open {
				s.complaints = append(s.complaints, fmt.Sprintf("lane %v: %s has no end", l, sl.Name))
			}
			s.lanes[l] = append(s.lanes[l], slice{sl.Name, nanos(sl.At * 1000), nanos(sl.Dur * 1000)})
		}
	}
	return s, nil
}
