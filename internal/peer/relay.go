package peer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/actorswarm/swarm/actors"
	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/mailbox"
	"github.com/actorswarm/swarm/mailbox/message"
	"github.com/actorswarm/swarm/team"
)

// relay passes on the mail of one member.
type relay struct {
	a       *Service
	session string
	bridged bool
	m       *team.Outsider
	again   chan struct{} // one pending signal: what was in the way has changed
	stuck   bool          // the other session was asked and has not taken the mail; guarded by a.mu

	told map[mailbox.ID]bool // letters whose senders know that they wait
	kept map[mailbox.ID]bool // letters that the other session has on its disk
}

func newRelay(a *Service, m *team.Outsider) *relay {
	session, bridged, _ := m.Transcript().ID().Session()
	return &relay{a: a, session: session, bridged: bridged, m: m, again: make(chan struct{}, 1), told: map[mailbox.ID]bool{}, kept: map[mailbox.ID]bool{}}
}

// How long a relay waits before it asks again, and how long for an answer.
const (
	firstRetry = 100 * time.Millisecond
	lastRetry  = 5 * time.Second
	postWithin = 10 * time.Second

	bridgeWithin = 3 * time.Second // the same through a server
)

func (f *relay) run(ctx context.Context) {
	wait := firstRetry
	for ctx.Err() == nil {
		coming := f.m.Coming()
		mail, err := f.m.Inbox(ctx, mostWaiting)
		if err != nil {
			f.rest() // the member was expelled
			return
		}
		moved, left := f.drain(ctx, mail)
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

// poke makes the relay try again at once.
func (f *relay) poke() {
	select {
	case f.again <- struct{}{}:
	default:
	}
}

// drain posts letters in order. One that is held lets those behind it pass: it is
// with the other session. It reports whether one was settled, and whether any is left.
func (f *relay) drain(ctx context.Context, mail []mailbox.Envelope) (moved, left bool) {
	for _, e := range mail {
		switch settled, held := f.deliver(ctx, e); {
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

// deliver posts one letter, or asks after it, and reports whether it is settled or held.
func (f *relay) deliver(ctx context.Context, e mailbox.Envelope) (settled, held bool) {
	got, err := f.post(ctx, e)
	f.kept[e.ID] = err == nil && got.Kept
	if err != nil {
		f.a.o.Logger.Debug("a letter waits for another session", "session", f.session, "message", e.ID, "error", err)
		got = Reply{State: Busy}
		if errors.Is(err, errNobodyThere) {
			got.Reason = err.Error()
		}
	}
	switch got.State {
	case Refused:
		err = errors.Join(f.notify(e, cmp.Or(string(got.End), "rejected"), got.Reason, mailbox.ClassSteer), f.m.Reject(e.ID, mailbox.Cut(got.Reason, 1000)))
	case Taken:
		if got.End != "" { // its sender was told that it is held
			err = f.notify(e, string(got.End), got.Reason, mailbox.ClassMail)
		}
		err = errors.Join(err, f.m.Read(e.ID))
	default:
		f.waits(e, got)
		return false, got.State == Waiting
	}
	if err != nil {
		f.a.o.Logger.Warn("what became of a letter to another session could not be recorded", "session", f.session, "message", e.ID, "error", err)
	}
	return err == nil, false
}

// waits tells the sender of a letter once that it is not taken yet, and why.
func (f *relay) waits(e mailbox.Envelope, got Reply) {
	if got.Reason == "" || f.told[e.ID] {
		return
	}
	f.told[e.ID] = true
	if err := f.notify(e, string(Waiting), got.Reason, mailbox.ClassMail); err != nil {
		f.a.o.Logger.Warn("the sender of a letter could not be told that it waits", "session", f.session, "message", e.ID, "error", err)
	}
}

func (f *relay) post(ctx context.Context, e mailbox.Envelope) (Reply, error) {
	if f.bridged {
		if got := f.a.allowlist.of(f); got.State != Taken {
			return got, nil
		}
	}
	in, err := f.letter(e)
	if err != nil {
		return Reply{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, postWithin)
	defer cancel()
	if f.bridged {
		ctx, cancel := context.WithTimeout(ctx, bridgeWithin) // nobody says here that the other was killed
		defer cancel()
		return f.a.post(ctx, f.session, in)
	}
	return f.a.o.Post(ctx, f.session, in)
}

// letter returns what is posted of a message: only its id once the other has the rest.
func (f *relay) letter(e mailbox.Envelope) (in Message, err error) {
	me := f.a.o.Record.Get()
	in = Message{
		Session: me.ID, Dir: me.Dir, Mode: me.Mode, From: e.FromName, ID: e.ID, Summary: e.Summary, Again: f.kept[e.ID],
	}
	if !in.Again {
		in.Text, err = f.a.o.Store.Body(e)
	}
	return in, err
}

var errNobodyThere = errors.New("no session of this id answers at the NATS server now; the message waits until one does")

// notify sends a receipt to the sender of a letter. The state in the key makes it
// one message, however often it is told.
func (f *relay) notify(e mailbox.Envelope, state, why string, c mailbox.Class) error {
	why = fmt.Sprintf("%s: %s", f.m.Transcript().ID(), mailbox.Cut(why, 1000))
	if e.From.Agent == agent.UserID {
		f.a.o.Warn(fmt.Sprintf("your message %s is %s by %s", e.ID, state, why))
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

func (f *relay) moved() { f.set(false) }
func (f *relay) rest()  { f.set(true) }

func (f *relay) set(stuck bool) {
	f.a.mu.Lock()
	defer f.a.mu.Unlock()
	f.stuck = stuck
	for c := range f.a.idle {
		close(c)
	}
	clear(f.a.idle)
}
