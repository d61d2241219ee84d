// Package audit writes the file of what was refused in a session, one JSON object a line.
// Code that refuses something calls Note, which never waits, and one goroutine of the
// session writes:
//
//	log := audit.New(audit.Options{Path: filepath.Join(dir, audit.File), Publish: publish, Logger: logger})
//	go log.Run(ctx)
//	log.Note(event.Audit{By: "eve", Subject: subject, Reason: "not a user of the bus"})
//
// The laws:
//
//   - Many attempts do not fill the disk: at most 600 entries a minute are written, and
//     the next entry counts those left out
//     (TestEntriesBeyondTheLimitOfAMinuteAreCounted).
//   - Entries that were noted before the end are written before Run returns
//     (TestRunWritesWhatWasNotedBeforeItsEnd).
//   - Note never blocks: an entry that does not fit into the queue is logged instead
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
	perMinute = 600 // entries that are written in a minute
)

// Options configure New. With the zero value, entries are neither written nor published.
type Options struct {
	Path    string            // of the file; "" writes none
	Publish func(event.Audit) // called by Run for each entry that is written; may be nil
	Logger  *slog.Logger      // logs entries that could not be written; nil discards them
}

// Log records refusals without delaying the caller. Its methods may be called from any
// goroutine; Run is called once.
type Log struct {
	options Options
	queue   chan event.Audit

	// only Run's goroutine:
	minute  time.Time // when the count began
	written int       // entries since then
	leftOut int       // entries that were left out since the last one
}

// line is an entry in the file.
type line struct {
	Time time.Time `json:"t"`
	event.Audit
	LeftOut int `json:"left_out,omitempty"` // entries left out before this one
}

// New returns a log that writes once Run is called.
func New(o Options) *Log {
	if o.Publish == nil {
		o.Publish = func(event.Audit) {}
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return &Log{options: o, queue: make(chan event.Audit, queueSize)}
}

// Note adds an entry and never blocks. An entry that does not fit into the queue is
// logged and not written to the file.
func (l *Log) Note(e event.Audit) {
	select {
	case l.queue <- e:
	default:
		l.options.Logger.Warn("refused, and too often to be audited", "by", e.By, "from", e.From, "reason", e.Reason)
	}
}

// Run writes entries until ctx ends, and then those that were noted before.
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

// admit counts an entry and reports whether the limit allows it.
func (l *Log) admit(now time.Time) bool {
	if now.Sub(l.minute) > time.Minute {
		l.minute, l.written = now, 0
	}
	if l.written++; l.written > perMinute {
		l.leftOut++
		return false
	}
	return true
}

func (l *Log) write(e event.Audit) {
	left := l.leftOut
	l.leftOut = 0
	l.options.Publish(e)
	if l.options.Path == "" {
		return
	}
	if err := l.append(line{Time: time.Now().UTC(), Audit: e, LeftOut: left}); err != nil {
		l.options.Logger.Warn("a refusal could not be written to the audit file", "by", e.By, "reason", e.Reason, "error", err)
	}
}

// append adds a line to the file. It opens the file each time, so that a file that was
// moved away is created again.
func (l *Log) append(entry line) error {
	raw, err := json.Marshal(entry)
	if err != nil {
		return fmt.Errorf("encode a line of the audit: %w", err)
	}
	f, err := os.OpenFile(l.options.Path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(append(raw, '\n'))
	if closing := f.Close(); err == nil {
		err = closing
	}
	return err
}
