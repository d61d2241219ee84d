package swarm

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/actorswarm/swarm/actors"
	"github.com/actorswarm/swarm/event"
)

// auditFile is where a session keeps what was tried and refused, a JSON object in
// each line. Whatever refuses says so to Session.audit, which is the only one to
// write there; what an agent in a process of its own is refused comes to the
// owner's as an event.
const auditFile = "audit.jsonl"

// The audit takes what comes in a burst and in the long run, so that whoever tries
// much fills no disk. What is left out is counted.
const (
	auditQueue  = 256
	auditPerMin = 600
)

type auditLine struct {
	Time time.Time `json:"t"`
	event.Audit
	Left int `json:"left_out,omitempty"` // entries that were too many before this one
}

// audit tells of refusals without holding up those who refuse.
type audit struct {
	s     *Session
	queue chan event.Audit
}

func newAudit(s *Session) *audit { return &audit{s: s, queue: make(chan event.Audit, auditQueue)} }

// note never blocks. What does not fit is lost, and the server's log has it.
func (a *audit) note(e event.Audit) {
	select {
	case a.queue <- e:
	default:
		a.s.opts.Logger.Warn("refused, and too often to be audited", "by", e.By, "from", e.From, "reason", e.Reason)
	}
}

// run writes until ctx ends, and then what was noted before.
func (a *audit) run(ctx context.Context) {
	var minute time.Time
	written, left := 0, 0
	for {
		select {
		case e := <-a.queue:
			if now := time.Now(); now.Sub(minute) > time.Minute {
				minute, written = now, 0
			}
			if written++; written > auditPerMin {
				left++
				continue
			}
			a.write(auditLine{Time: time.Now().UTC(), Audit: e, Left: left})
			left = 0
		case <-ctx.Done():
			for range len(a.queue) {
				a.write(auditLine{Time: time.Now().UTC(), Audit: <-a.queue, Left: left})
			}
			return
		}
	}
}

func (a *audit) write(l auditLine) {
	about := event.Agent{ID: actors.LeadID, Name: actors.LeadName}
	if t, ok := a.s.agents.Find(l.By); ok {
		about = actors.Describe(t.Spec())
	}
	a.s.bus.Publish(about, l.Audit)
	if a.s.opts.node != nil {
		return
	}
	if err := a.keep(l); err != nil {
		a.s.opts.Logger.Warn("a refusal could not be written to the audit file", "by", l.By, "reason", l.Reason, "error", err)
	}
}

func (a *audit) keep(l auditLine) error {
	raw, err := json.Marshal(l)
	if err != nil {
		return fmt.Errorf("encode a line of the audit: %w", err)
	}
	f, err := os.OpenFile(filepath.Join(a.s.info.Path, auditFile), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(append(raw, '\n'))
	if closing := f.Close(); err == nil {
		err = closing
	}
	return err
}
