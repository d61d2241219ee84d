package transcript

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/mailbox"
	"github.com/actorswarm/swarm/team/protocol"
)

// state is what a transcript always has in memory and in every checkpoint: the agent's
// record, its mail, and the messages of other sessions that wait for a decision. The
// conversation is apart, in talk.
type state struct {
	agent.Record
	ledger *mailbox.Ledger
	held   []HeldMessage // replaced, never changed in place
}

// snapshot is the JSON of a state in a checkpoint. The ledger's own bytes follow it.
type snapshot struct {
	agent.Record
	Held []HeldMessage `json:"letters,omitempty"`
}

// apply folds the decoded meta data of a record.
func (s *state) apply(kind byte, meta any) {
	switch m := meta.(type) {
	case *agent.Spec:
		s.Spec, s.Active = *m, m.Born
		if m.PlanRequired {
			s.Plan.Phase = protocol.PlanDrafting
		}
	case *wokeMeta:
		s.Incarnation, s.Active = m.Incarnation, m.Time
	case *promptMeta:
		s.open(m.Time)
	case *forkMeta:
		s.open(m.Time)
	case *requestMeta:
		s.work(m.Time)
		s.open(m.Time)
		s.Unread = false
	case *answerMeta:
		s.Steps++
		s.TurnSteps++
		s.AnsweredBy = m.Model
		s.use(m.Model, m.Usage, m.Cost)
		s.work(m.Time)
	case *startMeta:
		s.work(m.Time)
	case *judgedMeta:
		if m.Call != "" {
			s.Judged = s.Judged.With(m.Verdict)
		}
		s.use(m.Model, m.Usage, m.Cost)
		s.work(m.Time)
	case *consentMeta:
		if m.State == ConsentAsked {
			s.work(m.Time)
		}
		if m.State == ConsentAllowed {
			s.Judged.Row = 0
		}
		s.Active = m.Time // the agent did not work while the person decided
	case *finishMeta:
		s.ToolUses++
		s.work(m.Time)
	case *endMeta:
		s.work(m.Time)
		s.TurnOpen, s.Outcome, s.Reason, s.Result = false, m.Outcome, m.Reason, m.Text
	case *compactedMeta:
		s.Compactions++
		s.use(s.AnsweredBy, m.Usage, m.Cost)
		s.work(m.Time)
	case *readMeta:
		s.Active = m.Time
	case *heldMeta:
		s.applyHeld(m)
	case *amendMeta:
		s.Spec.Model, s.Spec.Mode, s.Spec.MaxTurns, s.Active = m.Model, m.Mode, m.MaxTurns, m.Time
	case *teamsMeta:
		s.Spec.Teams, s.Active = m.Teams, m.Time
	case *observedMeta:
		s.copyObserved(m.Record)
	case *launchedMeta:
		s.Launch = m.Launch
	case *roleMeta:
		s.Spec.Role, s.Closed, s.Active = m.Role, false, m.Time
		if s.Shutdown.Phase == protocol.ShutdownGone { // it works again
			s.Shutdown = protocol.Shutdown{}
		}
		if m.Woken != nil {
			s.Woken = *m.Woken
		}
	case *protocolMeta:
		s.applyProtocol(m)
	case *closedMeta:
		s.Closed, s.Reported, s.Active, s.KeptDir = true, s.Turns, m.Time, m.Kept
		if s.Unread { // it came too late to be read
			s.TurnOpen, s.Unread = false, false
		}
		if m.Reason != "" {
			s.Outcome, s.Reason = agent.Stopped, m.Reason
		}
	}
}

func (s *state) open(now time.Time) {
	if !s.TurnOpen {
		s.TurnOpen, s.TurnSteps = true, 0
		s.Turns++
	}
	s.Active = now
}

// replay folds a record that was read from the journal.
func (s *state) replay(kind byte, data []byte) error {
	switch kind {
	case kindSent:
		e, err := mailbox.DecodeBinary(data)
		if err != nil {
			return err
		}
		s.ledger.Sent(e)
	case kindArrived:
		e, c, err := decodeArrival(data)
		if err != nil {
			return err
		}
		s.ledger.Arrived(e, c)
	case kindReceipt:
		r, err := mailbox.DecodeBinaryReceipt(data)
		if err != nil {
			return fmt.Errorf("transcript: recorded receipt: %w", err)
		}
		s.ledger.Acknowledged(r)
	default:
		return s.replayMeta(kind, data)
	}
	return nil
}

func (s *state) replayMeta(kind byte, data []byte) error {
	meta := metaOf(kind)
	if meta == nil {
		return nil
	}
	if _, err := decode(data, meta); err != nil {
		return err
	}
	s.apply(kind, meta)
	switch m := meta.(type) {
	case *requestMeta:
		s.ledger.Read(m.Mail...)
	case *readMeta:
		s.ledger.Read(m.Mail...)
	}
	return nil
}

// snapshot returns the bytes from which restore makes the same state.
func (s *state) snapshot() ([]byte, error) {
	head, err := json.Marshal(snapshot{s.Record, s.held})
	if err != nil {
		return nil, err
	}
	return s.ledger.AppendSnapshot(append(head, '\n')), nil
}

func (s *state) restore(id mailbox.AgentID, data []byte) error {
	var head snapshot
	raw, err := decode(data, &head)
	if err != nil {
		return err
	}
	*s = state{Record: head.Record, held: head.Held, ledger: mailbox.NewLedger(id)}
	if s.Models == nil { // a snapshot that has only the sum over all models
		total := s.Usage
		s.use(s.Spec.Model, total, nil)
		s.Usage = total
	}
	return s.ledger.Restore(raw)
}

// verdict is the ledger's, but refuses what is meant for another incarnation.
func (s *state) verdict(e mailbox.Envelope) mailbox.Verdict {
	v := s.ledger.Check(e)
	if meant := e.To.Incarnation; meant != 0 && meant != s.Incarnation && v != mailbox.Duplicate {
		return mailbox.WrongIncarnation
	}
	return v
}

// metaOf returns an empty meta value for the kinds of records that begin with one.
func metaOf(kind byte) any {
	switch kind {
	case kindBorn:
		return &agent.Spec{}
	case kindWoke:
		return &wokeMeta{}
	case kindPrompt:
		return &promptMeta{}
	case kindFork:
		return &forkMeta{}
	case kindRequest:
		return &requestMeta{}
	case kindAnswer:
		return &answerMeta{}
	case kindStart:
		return &startMeta{}
	case kindConsent:
		return &consentMeta{}
	case kindFinish:
		return &finishMeta{}
	case kindEnd:
		return &endMeta{}
	case kindClosed:
		return &closedMeta{}
	case kindRole:
		return &roleMeta{}
	case kindAmend:
		return &amendMeta{}
	case kindCompacted:
		return &compactedMeta{}
	case kindTeams:
		return &teamsMeta{}
	case kindRead:
		return &readMeta{}
	case kindObserved:
		return &observedMeta{}
	case kindLaunched:
		return &launchedMeta{}
	case kindProtocol:
		return &protocolMeta{}
	case kindHeld:
		return &heldMeta{}
	case kindJudged:
		return &judgedMeta{}
	}
	return nil
}
