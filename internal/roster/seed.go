package roster

import (
	"context"
	"fmt"

	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/internal/transcript"
	"github.com/actorswarm/swarm/mailbox"
	"github.com/actorswarm/swarm/mailbox/message"
	"github.com/actorswarm/swarm/team"
	"github.com/actorswarm/swarm/team/board"
)

// Seed is a task that a team begins with.
type Seed struct {
	board.New
	Key   string   // tells the seeds of a list apart
	After []string // keys of those that are to be done before; they stand before it
	Owner string   // who is to do it, as Reach takes it; "" is whoever takes it
}

// seedKey is where a task says which seed it is.
const seedKey = "seed"

// seed puts tasks on a list in the name of the team's lead. A seed that is there
// is not put again. Owners need not be there yet: nobody else can take what has
// one, and entrust tells them.
func (r *Roster) seed(ctx context.Context, b *board.Board, lead *transcript.Transcript, seeds []Seed) error {
	there := seeded(b)
	for _, seed := range seeds {
		if _, known := there[seed.Key]; known {
			continue
		}
		t, err := b.Create(ctx, BoardMember(lead.Record()), seed.task(there))
		if err != nil {
			return err
		}
		there[seed.Key] = t
	}
	return nil
}

// assign tells the owners of seeds that nobody has taken. It may be called again.
func (r *Roster) assign(ctx context.Context, b *board.Board, lead *transcript.Transcript, seeds []Seed) error {
	there := seeded(b)
	for _, seed := range seeds {
		t := there[seed.Key]
		if seed.Owner == "" || t.Status != board.Pending || t.Owner != "" && t.Owner != seed.New.Owner {
			continue
		}
		if err := r.assignTo(ctx, b, lead, t, seed.Owner); err != nil {
			return err
		}
	}
	return nil
}

func seeded(b *board.Board) map[string]board.Task {
	there := map[string]board.Task{}
	for _, t := range b.List() {
		if key, ok := t.Metadata[seedKey].(string); ok {
			there[key] = t
		}
	}
	return there
}

func (s Seed) task(there map[string]board.Task) board.New {
	n := s.New
	n.Metadata = map[string]any{seedKey: s.Key}
	for _, key := range s.After {
		if t := there[key]; t.Status != board.Completed {
			n.BlockedBy = append(n.BlockedBy, t.ID)
		}
	}
	return n
}

// assignTo gives a task of the lead's to its owner and tells it. The message goes
// first: after a crash between the two it goes again, and is the same.
func (r *Roster) assignTo(ctx context.Context, b *board.Board, lead *transcript.Transcript, t board.Task, owner string) error {
	to, err := r.Reach(lead.Spec(), owner)
	if err != nil {
		return fmt.Errorf("the owner of %q: %w", t.Subject, err)
	}
	m := message.TaskAssigned{TaskID: string(t.ID), Subject: t.Subject, Description: t.Description, By: agent.DisplayName(lead.Spec())}
	body, err := message.Encode(m)
	if err != nil {
		return err
	}
	_, err = r.Send(lead, team.Message{
		To: string(to.ID()), Text: body, Kind: m.Kind(), Summary: mailbox.FirstLine(fmt.Sprintf("task assigned %s: %s", t.ID, t.Subject), summaryLength),
		Key: "seed-" + string(t.ID),
	})
	if err != nil {
		return err
	}
	_, err = b.Assign(ctx, BoardMember(lead.Record()), BoardMember(to.Record()), t.ID)
	return err
}
