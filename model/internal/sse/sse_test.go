package sse

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

type pair struct{ Name, Data string }

func read(r io.Reader) (events []pair, err error) {
	s := NewReader(r)
	for {
		e, err := s.Next()
		if errors.Is(err, io.EOF) {
			return events, nil
		}
		if err != nil {
			return events, err
		}
		events = append(events, pair{e.Name, string(e.Data)})
	}
}

func TestEventsAreSplitWhateverTheLineEnds(t *testing.T) {
	const src = "\xEF\xBB\xBF: hello\nevent: a\ndata: 1\n\n\n\ndata:2\ndata:  3\nid: 7\n\nevent: lonely\n\ndata\n\ndata: cut"
	want := []pair{{"a", "1"}, {"", "2\n 3"}, {"", ""}, {"", "cut"}}
	for _, end := range []string{"\n", "\r\n", "\r"} {
		in := strings.ReplaceAll(src, "\n", end)
		for name, r := range map[string]io.Reader{"whole": strings.NewReader(in), "by byte": iotest.OneByteReader(strings.NewReader(in))} {
			got, err := read(r)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%q %s: %s", end, name, diff)
			}
		}
	}
}

func TestAnEndlessEventIsRefused(t *testing.T) {
	for name, r := range map[string]io.Reader{
		"line":  strings.NewReader("data: " + strings.Repeat("x", 3*MaxBytes)),
		"lines": strings.NewReader(strings.Repeat("data: "+strings.Repeat("x", 1<<20)+"\n", 8)),
	} {
		if _, err := read(r); !errors.Is(err, ErrTooLong) {
			t.Errorf("%s: got %v, want ErrTooLong", name, err)
		}
	}
}

func TestAFailingSourceGivesNoHalfEvent(t *testing.T) {
	boom := errors.New("boom")
	got, err := read(io.MultiReader(strings.NewReader("data: 1\n\ndata: 2\n"), iotest.ErrReader(boom)))
	if !errors.Is(err, boom) || len(got) != 1 {
		t.Errorf("got %v, %v; want one event and the source's error", got, err)
	}
}

func FuzzReader(f *testing.F) {
	for _, s := range []string{"data: 1\n\n", "\xEF\xBB\xBFdata: 1\r\r", "event: x\r\ndata: {}\r\n\r\n", ": c\n\ndata", "\r\n\r"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		whole, err := read(strings.NewReader(string(in)))
		if err != nil {
			t.Fatal(err)
		}
		bytewise, err := read(iotest.OneByteReader(strings.NewReader(string(in))))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(whole, bytewise); diff != "" {
			t.Error(diff)
		}
	})
}
