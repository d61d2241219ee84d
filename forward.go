package swarm

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/actorswarm/swarm/actors"
	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/event"
	"github.com/actorswarm/swarm/internal/rpc"
	"github.com/actorswarm/swarm/mailbox"
	"github.com/actorswarm/swarm/mailbox/message"
	"github.com/actorswarm/swarm/team"
)

// forwarder passes on the mail of one member.
type forwarder struct {
	a       *abroad
	session string
	bridged bool
	m       *team.Outsider
	again   chan struct{} // one pending signal: what was in the way has changed
	stuck   bool          // the other session was asked and has not taken the mail; guarded by a.mu

	told map[mailbox.ID]bool // letters whose senders know that they wait
	kept map[mailbox.ID]bool // letters that the other session has on its disk
}

func newForwarder(a *abroad, m *team.Outsider) *forwarder {
	session, bridged, _ := m.Transcript().ID().Session()
	return &forwarder{a: a, session: session, bridged: bridged, m: m, again: make(chan struct{}, 1), told: map[mailbox.ID]bool{}, kept: map[mailbox.ID]bool{}}
}

// How long a forwarder waits before it asks again, and how long for an answer.
const (
	firstRetry = 100 * time.Millisecond
	lastRetry  = 5 * time.Second
	postWithin = 10 * time.Second

	bridgeWithin = 3 * time.Second // the same through a server
)

func (f *forwarder) run(ctx context.Context) {
	wait := firstRetry
	for ctx.Err() == nil {
		coming := f.m.Coming()
		mail, err := f.m.Inbox(ctx, mostWaiting)
		if err != nil {
			f.rest() // the member was expelled
			return
		}
		moved, left := f.round(ctx, mail)
		if moved {
			wait = firstRetry
			f.moved()
		}
		if !left {
			continue
		}
		f.rest()
		select {
		case <-time.After(wait):
			wait = min(2*wait, lastRetry)
		case <-f.again:
			wait = firstRetry
		case <-coming: // it need not wait for those before it that are held
		case <-ctx.Done():
		}
	}
}

// poke makes the forwarder try again at once.
func (f *forwarder) poke() {
	select {
	case f.again <- struct{}{}:
	default:
	}
}

// round posts letters in order. One that is held lets those behind it pass: it is
// with the other session. It reports whether one was settled, and whether any is left.
func (f *forwarder) round(ctx context.Context, mail []mailbox.Envelope) (moved, left bool) {
	for _, e := range mail {
		switch settled, held := f.pass(ctx, e); {
		case settled:
			delete(f.told, e.ID)
			delete(f.kept, e.ID)
			moved = true
		case held:
			left = true
		default:
			return moved, true
		}
	}
	return moved, left
}

// pass posts one letter, or asks after it, and reports whether it is settled or held.
func (f *forwarder) pass(ctx context.Context, e mailbox.Envelope) (settled, held bool) {
	got, err := f.post(ctx, e)
	f.kept[e.ID] = err == nil && got.Kept
	if err != nil {
		f.a.s.opts.Logger.Debug("a letter waits for another session", "session", f.session, "message", e.ID, "error", err)
		got = letterReply{State: letterBusy}
		if errors.Is(err, errNobodyThere) {
			got.Reason = err.Error()
		}
	}
	switch got.State {
	case letterRefused:
		err = errors.Join(f.tell(e, first(string(got.End), "rejected"), got.Reason, mailbox.ClassSteer), f.m.Reject(e.ID, mailbox.Cut(got.Reason, 1000)))
	case letterTaken:
		if got.End != "" { // its sender was told that it is held
			err = f.tell(e, string(got.End), got.Reason, mailbox.ClassMail)
		}
		err = errors.Join(err, f.m.Read(e.ID))
	default:
		f.waits(e, got)
		return false, got.State == letterHeld
	}
	if err != nil {
		f.a.s.opts.Logger.Warn("what became of a letter to another session could not be recorded", "session", f.session, "message", e.ID, "error", err)
	}
	return err == nil, false
}

// waits tells the sender of a letter once that it is not taken yet, and why.
func (f *forwarder) waits(e mailbox.Envelope, got letterReply) {
	if got.Reason == "" || f.told[e.ID] {
		return
	}
	f.told[e.ID] = true
	if err := f.tell(e, string(letterHeld), got.Reason, mailbox.ClassMail); err != nil {
		f.a.s.opts.Logger.Warn("the sender of a letter could not be told that it waits", "session", f.session, "message", e.ID, "error", err)
	}
}

func (f *forwarder) post(ctx context.Context, e mailbox.Envelope) (letterReply, error) {
	if f.bridged {
		if got := f.a.asks.of(f); got.State != letterTaken {
			return got, nil
		}
	}
	in, err := f.letter(e)
	if err != nil {
		return letterReply{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, postWithin)
	defer cancel()
	if f.bridged {
		ctx, cancel := context.WithTimeout(ctx, bridgeWithin) // nobody says here that the other was killed
		defer cancel()
		return f.a.postLetter(ctx, f.session, in)
	}
	return f.a.postAtDoor(ctx, f.session, in)
}

// letter returns what is posted of a message: only its id once the other has the rest.
func (f *forwarder) letter(e mailbox.Envelope) (in sessionLetter, err error) {
	me := f.a.s.Info()
	in = sessionLetter{
		Session: me.ID, Dir: me.Dir, Mode: me.Mode, From: e.FromName, ID: e.ID, Summary: e.Summary, Again: f.kept[e.ID],
	}
	if !in.Again {
		in.Text, err = f.a.s.store.Body(e)
	}
	return in, err
}

// postAtDoor posts a letter through the socket of a session of this machine.
func (a *abroad) postAtDoor(ctx context.Context, session string, in sessionLetter) (letterReply, error) {
	r, err := Dial(a.s.opts.StateDir, Info{ID: session})
	if err != nil {
		return letterReply{}, err
	}
	defer r.Close()
	out, err := rpc.Call(ctx, r.client, apiLetter, letterIn{&in})
	if err != nil || out.Letter == nil {
		return letterReply{}, errors.Join(err, errNoVerdict)
	}
	return *out.Letter, nil
}

var (
	errNoVerdict   = errors.New("the session did not say what became of the letter")
	errNobodyThere = errors.New("no session of this id answers at the NATS server now; the message waits until one does")
)

// tell sends a receipt to the sender of a letter. The state in the key makes it
// one message, however often it is told.
func (f *forwarder) tell(e mailbox.Envelope, state, why string, c mailbox.Class) error {
	why = fmt.Sprintf("%s: %s", f.m.Transcript().ID(), mailbox.Cut(why, 1000))
	if e.From.Agent == agent.UserID {
		f.a.s.bus.Publish(event.Agent{ID: agent.LeadID, Name: agent.LeadName}, event.Warning{Text: fmt.Sprintf("your message %s is %s by %s", e.ID, state, why)})
		return nil
	}
	body, err := message.Encode(message.Receipt{MessageID: e.ID, State: mailbox.State(state), Reason: why})
	if err != nil {
		return err
	}
	_, err = f.m.Send(team.Letter{
		To: string(e.From.Agent), Text: body, Kind: mailbox.KindReceipt, Class: c, Key: state + " " + string(e.ID),
		Summary: fmt.Sprintf("your message %s is %s", e.ID, state),
	})
	if final := (*actors.FinalError)(nil); errors.As(err, &final) {
		return nil // nobody is left to tell
	}
	return err
}

func (f *forwarder) moved() { f.set(false) }
func (f *forwarder) rest()  { f.set(true) }

func (f *forwarder) set(stuck bool) {
	f.a.mu.Lock()
	defer f.a.mu.Unlock()
	f.stuck = stuck
	for c := range f.a.idle {
		close(c)
	}
	clear(f.a.idle)
}
