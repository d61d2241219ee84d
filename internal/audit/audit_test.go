package audit

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/actorswarm/swarm/event"
)

// lines reads the file of an audit.
func lines(t *testing.T, path string) (all []line) {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for text := range bytes.Lines(raw) {
		var l line
		if err := json.Unmarshal(text, &l); err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		all = append(all, l)
	}
	return all
}

func TestEntriesBeyondTheLimitOfAMinuteAreCounted(t *testing.T) {
	path := filepath.Join(t.TempDir(), File)
	synctest.Test(t, func(t *testing.T) {
		published := 0
		log := New(Options{Path: path, Publish: func(event.Audit) { published++ }})
		ctx, cancel := context.WithCancel(t.Context())
		defer synctest.Wait()
		defer cancel()
		go log.Run(ctx)
		note := func(n int) {
			for i := range n {
				log.Note(event.Audit{By: "eve", Reason: fmt.Sprint(i)})
				synctest.Wait() // written, so that the queue has room
			}
		}
		note(perMinute + 7)
		if got := lines(t, path); len(got) != perMinute || published != perMinute {
			t.Fatalf("of one minute %d lines were written and %d entries published, want %d of each", len(got), published, perMinute)
		}
		time.Sleep(time.Minute)
		note(1)
		if got := lines(t, path); len(got) != perMinute {
			t.Fatalf("within the minute %d lines were written, want %d", len(got), perMinute)
		}
		time.Sleep(time.Nanosecond)
		note(2)
		got := lines(t, path)
		if len(got) != perMinute+2 || got[perMinute].LeftOut != 8 || got[perMinute+1].LeftOut != 0 {
			t.Errorf("the lines of the next minute are %+v, want two, of which the first says that 8 were left out", got[perMinute:])
		}
	})
}

func TestRunWritesWhatWasNotedBeforeItsEnd(t *testing.T) {
	path := filepath.Join(t.TempDir(), File)
	log := New(Options{Path: path})
	for i := range 10 {
		log.Note(event.Audit{By: "eve", Subject: fmt.Sprint(i)})
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	log.Run(ctx)
	got := lines(t, path)
	if len(got) != 10 {
		t.Fatalf("%d lines were written, want 10", len(got))
	}
	for i, l := range got {
		if l.Subject != fmt.Sprint(i) || l.Time.IsZero() {
			t.Errorf("line %d is %+v", i, l)
		}
	}
}

func TestNoteNeverBlocks(t *testing.T) {
	var logged bytes.Buffer
	log := New(Options{Logger: slog.New(slog.NewTextHandler(&logged, nil))})
	for range queueSize + 1 {
		log.Note(event.Audit{By: "eve", Reason: "not permitted"})
	}
	if !strings.Contains(logged.String(), "by=eve") || !strings.Contains(logged.String(), "not permitted") {
		t.Errorf("the log says %q of an entry that did not fit", &logged)
	}
}
