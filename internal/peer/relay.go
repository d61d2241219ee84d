package peer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/actorswarm/swarm/actors"
	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/internal/roster"
	"github.com/actorswarm/swarm/mailbox"
	"github.com/actorswarm/swarm/mailbox/message"
	"github.com/actorswarm/swarm/team"
)

// relay passes on the mail of one member.
type relay struct {
	service *Service
	session string
	bridged bool
	m       *roster.Member
	again   chan struct{} // one pending signal: what was in the way has changed
	stuck   bool          // the other session was asked and has not taken the mail; guarded by a.mu

	told map[mailbox.ID]bool // messages whose senders know that they wait
	kept map[mailbox.ID]bool // messages that the other session has on its disk
}

func newRelay(a *Service, m *roster.Member) *relay {
	session, bridged, _ := m.Transcript().ID().Session()
	return &relay{service: a, session: session, bridged: bridged, m: m, again: make(chan struct{}, 1), told: map[mailbox.ID]bool{}, kept: map[mailbox.ID]bool{}}
}

// How long a relay waits before it asks again, and how long for an answer.
const (
	firstRetry = 100 * time.Millisecond
	lastRetry  = 5 * time.Second
	postWithin = 10 * time.Second

	bridgeWithin = 3 * time.Second // the same through a server
)

func (r *relay) run(ctx context.Context) {
	wait := firstRetry
	for ctx.Err() == nil {
		coming := r.m.Arrivals()
		mail, err := r.m.Inbox(ctx, mostWaiting)
		if err != nil {
			r.rest() // the member was expelled
			return
		}
		moved, left := r.drain(ctx, mail)
		if moved {
			wait = firstRetry
			r.moved()
		}
		if !left {
			continue
		}
		r.rest()
		select {
		case <-time.After(wait):
			wait = min(2*wait, lastRetry)
		case <-r.again:
			wait = firstRetry
		case <-coming: // it need not wait for those before it that are held
		case <-ctx.Done():
		}
	}
}

// poke makes the relay try again at once.
func (r *relay) poke() {
	select {
	case r.again <- struct{}{}:
	default:
	}
}

// drain posts messages in order. One that is held lets those behind it pass: it is
// with the other session. It reports whether one was settled, and whether any is left.
func (r *relay) drain(ctx context.Context, mail []mailbox.Envelope) (moved, left bool) {
	for _, e := range mail {
		switch settled, held := r.deliver(ctx, e); {
		case settled:
			delete(r.told, e.ID)
			delete(r.kept, e.ID)
			moved = true
		case held:
			left = true
		default:
			return moved, true
		}
	}
	return moved, left
}

// deliver posts one message, or asks after it, and reports whether it is settled or held.
func (r *relay) deliver(ctx context.Context, e mailbox.Envelope) (settled, held bool) {
	got, err := r.post(ctx, e)
	r.kept[e.ID] = err == nil && got.Kept
	if err != nil {
		r.service.o.Logger.Debug("a letter waits for another session", "session", r.session, "message", e.ID, "error", err)
		got = Reply{State: Busy}
		if errors.Is(err, errNobodyThere) {
			got.Reason = err.Error()
		}
	}
	switch got.State {
	case Refused:
		err = errors.Join(r.notify(e, cmp.Or(string(got.End), "rejected"), got.Reason, mailbox.ClassSteer), r.m.Reject(e.ID, mailbox.Cut(got.Reason, 1000)))
	case Taken:
		if got.End != "" { // its sender was told that it is held
			err = r.notify(e, string(got.End), got.Reason, mailbox.ClassMail)
		}
		err = errors.Join(err, r.m.Read(e.ID))
	default:
		r.waits(e, got)
		return false, got.State == Waiting
	}
	if err != nil {
		r.service.o.Logger.Warn("what became of a letter to another session could not be recorded", "session", r.session, "message", e.ID, "error", err)
	}
	return err == nil, false
}

// waits tells the sender of a message once that it is not taken yet, and why.
func (r *relay) waits(e mailbox.Envelope, got Reply) {
	if got.Reason == "" || r.told[e.ID] {
		return
	}
	r.told[e.ID] = true
	if err := r.notify(e, string(Waiting), got.Reason, mailbox.ClassMail); err != nil {
		r.service.o.Logger.Warn("the sender of a letter could not be told that it waits", "session", r.session, "message", e.ID, "error", err)
	}
}

func (r *relay) post(ctx context.Context, e mailbox.Envelope) (Reply, error) {
	if r.bridged {
		if got := r.service.allowlist.of(r); got.State != Taken {
			return got, nil
		}
	}
	in, err := r.letter(e)
	if err != nil {
		return Reply{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, postWithin)
	defer cancel()
	if r.bridged {
		ctx, cancel := context.WithTimeout(ctx, bridgeWithin) // nobody says here that the other was killed
		defer cancel()
		return r.service.post(ctx, r.session, in)
	}
	return r.service.o.Post(ctx, r.session, in)
}

// message returns what is posted of a message: only its id once the other has the rest.
func (r *relay) letter(e mailbox.Envelope) (in Message, err error) {
	me := r.service.o.Record.Get()
	in = Message{
		Session: me.ID, Dir: me.Dir, Mode: me.Mode, From: e.FromName, ID: e.ID, Summary: e.Summary, Again: r.kept[e.ID],
	}
	if !in.Again {
		in.Text, err = r.service.o.Store.Body(e)
	}
	return in, err
}

var errNobodyThere = errors.New("no session of this id answers at the NATS server now; the message waits until one does")

// notify sends a receipt to the sender of a message. The state in the key makes it
// one message, however often it is told.
func (r *relay) notify(e mailbox.Envelope, state, why string, c mailbox.Class) error {
	why = fmt.Sprintf("%s: %s", r.m.Transcript().ID(), mailbox.Cut(why, 1000))
	if e.From.Agent == agent.UserID {
		r.service.o.Warn(fmt.Sprintf("your message %s is %s by %s", e.ID, state, why))
		return nil
	}
	body, err := message.Encode(message.Receipt{MessageID: e.ID, State: mailbox.State(state), Reason: why})
	if err != nil {
		return err
	}
	_, err = r.m.Send(team.Message{
		To: string(e.From.Agent), Text: body, Kind: mailbox.KindReceipt, Class: c, Key: state + " " + string(e.ID),
		Summary: fmt.Sprintf("your message %s is %s", e.ID, state),
	})
	if final := (*actors.FinalError)(nil); errors.As(err, &final) {
		return nil // nobody is left to tell
	}
	return err
}

func (r *relay) moved() { r.set(false) }
func (r *relay) rest()  { r.set(true) }

func (r *relay) set(stuck bool) {
	r.service.mu.Lock()
	defer r.service.mu.Unlock()
	r.stuck = stuck
	for c := range r.service.idle {
		close(c)
	}
	clear(r.service.idle)
}
