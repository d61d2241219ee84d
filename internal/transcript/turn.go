package transcript

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/internal/journal"
	"github.com/actorswarm/swarm/mailbox"
	"github.com/actorswarm/swarm/model"
)

// Wake records a new incarnation of the agent's host and returns it. What an older
// incarnation sends from now on is out of date.
func (t *Transcript) Wake() (uint32, error) {
	t.mu.Lock()
	m := &wokeMeta{Time: time.Now(), Incarnation: t.state.Incarnation + 1}
	ticket, err := t.add(kindWoke, m, nil)
	t.mu.Unlock()
	return m.Incarnation, wait(ticket, err)
}

// Setup records the system and tool blocks that every request of this agent begins with.
// Only the first call records; later ones return what is on record, so that a resumed
// agent keeps its bytes.
func (t *Transcript) Setup(build func() (system, tools []json.RawMessage)) (system, tools []json.RawMessage, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.load(); err != nil {
		return nil, nil, err
	}
	if t.conv.system == nil {
		system, tools := build()
		raw := joinArray(slices.Concat(system, tools))
		if _, err := t.add(kindSetup, &setupMeta{Time: time.Now(), System: len(system)}, raw); err != nil {
			return nil, nil, err
		}
	}
	return t.conv.system, t.conv.tools, nil
}

func joinArray(blocks []json.RawMessage) []byte {
	raw := []byte{'['}
	for i, b := range blocks {
		if i > 0 {
			raw = append(raw, ',')
		}
		raw = append(raw, b...)
	}
	return append(raw, ']')
}

// Prompt records text for the agent to work on. It opens a turn and becomes part of the
// next request. Prompt returns when it is on disk.
func (t *Transcript) Prompt(origin, text string) error {
	ticket, err := t.prompt(origin, text)
	return wait(ticket, err)
}

func (t *Transcript) prompt(origin, text string) (journal.Ticket, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.state.Closed {
		return journal.Ticket{}, ErrClosed
	}
	return t.add(kindPrompt, &promptMeta{Time: time.Now(), Origin: origin}, model.Text(text).AppendJSON(nil))
}

// Request records the next model request and returns the conversation that it carries:
// all results and prompts that were waiting, and all unread mail as blocks built by
// frame. It returns when the request, and everything before it, is on disk. read holds
// the messages that are new in it. Admit records a request with a part of these.
func (t *Transcript) Request(frame func([]mailbox.Envelope) []model.Block) (msgs []model.Message, read []mailbox.Envelope, err error) {
	t.mu.Lock()
	read = t.state.ledger.Unread()
	in := Intake{}
	if len(read) > 0 {
		in.Mail, in.Blocks = idsOf(read), frame(read)
	}
	msgs, ticket, err := t.admit(in)
	t.mu.Unlock()
	return msgs, read, wait(ticket, err)
}

func idsOf(mail []mailbox.Envelope) []mailbox.ID {
	ids := make([]mailbox.ID, len(mail))
	for i, e := range mail {
		ids[i] = e.ID
	}
	return ids
}

func joinBlocks(blocks []model.Block) []byte {
	parts := make([][]byte, len(blocks))
	for i, b := range blocks {
		parts[i] = b.AppendJSON(nil)
	}
	return bytes.Join(parts, []byte{','})
}

// Answer records a model answer. It returns when the answer is on disk; act on it only
// then.
func (t *Transcript) Answer(a *model.Answer) error {
	t.mu.Lock()
	if err := t.load(); err != nil {
		t.mu.Unlock()
		return err
	}
	m := &answerMeta{Time: time.Now(), ID: a.ID, Model: cmp.Or(a.Model, a.Requested, t.state.Spec.Model), Stop: a.StopReason, Usage: a.Usage}
	m.Cost = t.store.priced(a.Usage, a.Requested, m.Model)
	ticket, err := t.add(kindAnswer, m, a.Message.Raw())
	t.mu.Unlock()
	return wait(ticket, err)
}

// Final returns the newest answer if it calls no tool and nothing has followed it, not
// even the end of its turn; else nil. After a crash, such a turn must be ended without
// another request.
func (t *Transcript) Final() (*model.Answer, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.load(); err != nil {
		return nil, err
	}
	return t.conv.final, nil
}

// Calls returns the tool calls of the newest answer, in its order.
func (t *Transcript) Calls() ([]CallState, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.load(); err != nil {
		return nil, err
	}
	return slices.Clone(t.conv.calls), nil
}

// StartCall records that a call is about to run. With durable it returns when
// that is on disk, as it must be for a call whose effects are outside.
func (t *Transcript) StartCall(id string, durable bool) error {
	t.mu.Lock()
	ticket, err := t.add(kindStart, &startMeta{Time: time.Now(), Call: id}, nil)
	t.mu.Unlock()
	if err != nil || !durable {
		return err
	}
	return ticket.Wait()
}

// CallResult is the end of a tool call.
type CallResult struct {
	Text    string
	IsError bool
	Detail  json.RawMessage
	Took    time.Duration
}

// FinishCall records the result of a call. With durable it returns when that is
// on disk; otherwise the next Request covers it. A second result of the same
// call is an error.
func (t *Transcript) FinishCall(id string, r CallResult, durable bool) error {
	ticket, err := t.finishCall(id, r)
	if err != nil || !durable {
		return err
	}
	return ticket.Wait()
}

func (t *Transcript) finishCall(id string, r CallResult) (journal.Ticket, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.load(); err != nil {
		return journal.Ticket{}, err
	}
	return t.finish(id, r)
}

func (t *Transcript) finish(id string, r CallResult) (journal.Ticket, error) {
	c := t.conv.call(id)
	switch {
	case c == nil:
		return journal.Ticket{}, fmt.Errorf("transcript: result for call %s, which the newest answer does not have", id)
	case c.Done:
		return journal.Ticket{}, fmt.Errorf("transcript: call %s (%s) has a result already", id, c.Name)
	}
	m := &finishMeta{Time: time.Now(), Call: id, Name: c.Name, IsError: r.IsError, Took: r.Took, Detail: r.Detail}
	return t.add(kindFinish, m, model.ToolResult(id, r.Text, r.IsError).AppendJSON(nil))
}

// cutCall is the result of a call that had begun when its turn ended.
const cutCall = "cut off: the turn ended while this call ran. It may have taken effect, wholly or in part, or not at all; check before you repeat it."

// End records the end of a turn. Calls that are still open get a result first, since a
// conversation with an unanswered call is not valid: note or, for a call that had begun,
// that it was cut off.
func (t *Transcript) End(o agent.Outcome, reason, text, note string) error {
	ticket, err := t.end(o, reason, text, note)
	return wait(ticket, err)
}

func (t *Transcript) end(o agent.Outcome, reason, text, note string) (journal.Ticket, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.load(); err != nil {
		return journal.Ticket{}, err
	}
	for c := t.conv.openCall(); c != nil; c = t.conv.openCall() {
		text := note
		if c.Started {
			text = cutCall
		}
		if _, err := t.finish(c.ID, CallResult{Text: text, IsError: true}); err != nil {
			return journal.Ticket{}, err
		}
	}
	return t.add(kindEnd, &endMeta{Time: time.Now(), Outcome: o, Reason: reason, Text: text}, nil)
}

// ErrTurnEnded is the error of a change of role after the end of the turn.
var ErrTurnEnded = errors.New("transcript: the turn has ended")

// MoveTo gives an agent that has not ended another role: a foreground agent goes on in
// the background. After Ending it fails with ErrTurnEnded, so that an end is reported in
// exactly one way.
func (t *Transcript) MoveTo(r agent.Role) error {
	t.mu.Lock()
	if t.ending || t.state.Closed || t.state.Turns == t.state.Reported {
		t.mu.Unlock()
		return ErrTurnEnded
	}
	ticket, err := t.add(kindRole, &roleMeta{Time: time.Now(), Role: r}, nil)
	t.mu.Unlock()
	return wait(ticket, err)
}

// Ending returns the record of an agent whose end is about to be reported. Its role does
// not change from now on until the agent is reopened.
func (t *Transcript) Ending() agent.Record {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ending = true
	return t.state.Record
}

// Reopen lets an agent that has ended work again, in a role. It changes nothing for an
// agent that has not ended. It sets the time of w.
func (t *Transcript) Reopen(r agent.Role, w agent.Waking) error {
	t.mu.Lock()
	if !t.state.Closed {
		t.mu.Unlock()
		return nil
	}
	t.ending = false
	w.Time = time.Now()
	ticket, err := t.add(kindRole, &roleMeta{Time: w.Time, Role: r, Woken: &w}, nil)
	t.mu.Unlock()
	return wait(ticket, err)
}

// Close records that the agent will not run again by itself. why is the reason if it was
// stopped while no turn ran, and kept its own directory if that was kept.
func (t *Transcript) Close(why string, kept *agent.KeptDir) error {
	t.mu.Lock()
	if t.state.Closed {
		t.mu.Unlock()
		return nil
	}
	ticket, err := t.add(kindClosed, &closedMeta{Time: time.Now(), Reason: why, Kept: kept}, nil)
	t.mu.Unlock()
	return wait(ticket, err)
}

// Seal closes the agent, or an agent that is closed already, with a reason.
func (t *Transcript) Seal(why string) error {
	t.mu.Lock()
	if t.state.Closed && t.state.Reason == why {
		t.mu.Unlock()
		return nil
	}
	ticket, err := t.add(kindClosed, &closedMeta{Time: time.Now(), Reason: why, Kept: t.state.KeptDir}, nil)
	t.mu.Unlock()
	return wait(ticket, err)
}

func wait(t journal.Ticket, err error) error {
	if err != nil {
		return err
	}
	return t.Wait()
}
