// Package audit keeps the file of what was tried in a session and refused, a JSON
// object in each line. Whoever refuses something calls Note, which never waits, and
// one goroutine of the session writes:
//
//	log := audit.New(audit.Options{Path: filepath.Join(dir, audit.File), Publish: publish, Logger: logger})
//	go log.Run(ctx)
//	log.Note(event.Audit{By: "eve", Subject: subject, Reason: "not a user of the bus"})
//
// The laws:
//
//   - Whoever tries much fills no disk: of each minute at most 600 entries are
//     written, and the next entry says how many were left out
//     (TestEntriesBeyondTheLimitOfAMinuteAreCounted).
//   - What was noted before the end is written before Run returns
//     (TestRunWritesWhatWasNotedBeforeItsEnd).
//   - Note never blocks: what does not fit into the queue is logged instead
//     (TestNoteNeverBlocks).
package audit

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/actorswarm/swarm/event"
)

// File is the name of the file in the directory of a session.
const File = "audit.jsonl"

const (
	queueSize = 256 // entries that wait to be written
	perMinute = 600 // entries that are written of each minute
)

// Options say where a Log writes. The zero value keeps and publishes nothing.
type Options struct {
	Path    string            // of the file; "" keeps none
	Publish func(event.Audit) // is told of each entry that is written; nil is nobody. Only Run calls it
	Logger  *slog.Logger      // gets what could not be kept; nil discards it
}

// Log takes refusals without holding up those who refuse. Its methods may be called
// from any goroutine; Run is called once.
type Log struct {
	o     Options
	queue chan event.Audit

	// only Run's goroutine:
	minute  time.Time // when the count began
	written int       // entries since then
	left    int       // entries that were left out since the last one
}

// line is what the file holds of an entry.
type line struct {
	Time time.Time `json:"t"`
	event.Audit
	Left int `json:"left_out,omitempty"` // entries left out before this one
}

// New returns a log that writes once Run is called.
func New(o Options) *Log {
	if o.Publish == nil {
		o.Publish = func(event.Audit) {}
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return &Log{o: o, queue: make(chan event.Audit, queueSize)}
}

// Note adds an entry and never blocks. An entry that does not fit is lost to the file
// and goes to the logger.
func (l *Log) Note(e event.Audit) {
	select {
	case l.queue <- e:
	default:
		l.o.Logger.Warn("refused, and too often to be audited", "by", e.By, "from", e.From, "reason", e.Reason)
	}
}

// Run writes until ctx ends, and then what was noted before.
func (l *Log) Run(ctx context.Context) {
	for {
		select {
		case e := <-l.queue:
			if l.admit(time.Now()) {
				l.write(e)
			}
		case <-ctx.Done():
			for range len(l.queue) {
				l.write(<-l.queue)
			}
			return
		}
	}
}

// admit counts an entry and reports whether the minute has room for it.
func (l *Log) admit(now time.Time) bool {
	if now.Sub(l.minute) > time.Minute {
		l.minute, l.written = now, 0
	}
	if l.written++; l.written > perMinute {
		l.left++
		return false
	}
	return true
}

func (l *Log) write(e event.Audit) {
	left := l.left
	l.left = 0
	l.o.Publish(e)
	if l.o.Path == "" {
		return
	}
	if err := l.append(line{Time: time.Now().UTC(), Audit: e, Left: left}); err != nil {
		l.o.Logger.Warn("a refusal could not be written to the audit file", "by", e.By, "reason", e.Reason, "error", err)
	}
}

// append adds a line to the file. It opens the file for each, so that a file that was
// moved away is made anew.
func (l *Log) append(entry line) error {
	raw, err := json.Marshal(entry)
	if err != nil {
		return fmt.Errorf("encode a line of the audit: %w", err)
	}
	f, err := os.OpenFile(l.o.Path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(append(raw, '\n'))
	if closing := f.Close(); err == nil {
		err = closing
	}
	return err
}
