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
	Key   string   // identifies the seed on its list
	After []string // keys of seeds that must be done first and that come before it
	Owner string   // a name for Reach; "" is any member
}

// seedKey is the key of a task's metadata that holds the seed.
const seedKey = "seed"

// seed adds tasks to a list in the name of the team's lead, unless they are there. Their
// owners may not exist yet: no other agent can claim such a task, and assign notifies them.
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

// assign gives seeds that nobody has claimed to their owners. It may be called again.
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

// assignTo notifies the owner of a task of the lead's and then makes it the owner. After a
// crash between the two the same message is sent again and ignored.
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
