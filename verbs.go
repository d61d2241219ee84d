package swarm

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/actorswarm/swarm/actors"
	"github.com/actorswarm/swarm/mailbox"
)

// verb is one request that the door answers. within bounds it; 0 leaves it to the
// life of the session.
type verb struct {
	within time.Duration
	do     func(context.Context, *door, request) (reply, error)
}

// verbs are the requests about agents, messages and the session. Those of teams
// begin with team, and those of outside members stand in outsideVerbs.
var verbs = map[string]verb{
	"ps": {0, func(_ context.Context, d *door, _ request) (reply, error) {
		info := d.s.Info()
		return reply{Agents: d.s.Agents(), Info: &info}, nil
	}},
	"agent": {0, func(_ context.Context, d *door, in request) (reply, error) {
		a, err := d.s.Agent(in.Name)
		return reply{Agents: []actors.Status{a}}, err
	}},
	"tasks": {closeWithin, func(ctx context.Context, d *door, _ request) (reply, error) {
		tasks, err := d.s.Tasks(ctx)
		return reply{Tasks: tasks}, err
	}},
	"stop": {closeWithin, func(ctx context.Context, d *door, in request) (reply, error) {
		return reply{}, d.s.Stop(ctx, in.Name)
	}},
	"kill": {closeWithin, func(ctx context.Context, d *door, in request) (reply, error) {
		return reply{}, d.s.Kill(ctx, in.Name)
	}},
	"stoptree": {treeWithin, func(ctx context.Context, d *door, in request) (reply, error) {
		ended, err := d.s.StopTree(ctx, in.Name)
		return reply{Ended: ended}, err
	}},
	"killtree": {treeWithin, func(ctx context.Context, d *door, in request) (reply, error) {
		ended, err := d.s.KillTree(ctx, in.Name)
		return reply{Ended: ended}, err
	}},
	"down": {0, func(ctx context.Context, d *door, in request) (reply, error) {
		ctx, cancel := context.WithTimeout(ctx, in.Grace+treeWithin)
		defer cancel()
		gone, err := d.s.Down(ctx, in.Names, in.Grace)
		return reply{Gone: gone}, err
	}},
	"bg": {0, func(_ context.Context, d *door, in request) (reply, error) {
		return reply{}, d.s.Background(in.Name)
	}},
	"bgall": {0, func(_ context.Context, d *door, _ request) (reply, error) {
		return reply{Moved: d.s.BackgroundForeground()}, nil
	}},
	"interrupt": {0, func(_ context.Context, d *door, in request) (reply, error) {
		cut, err := d.interrupt(in.Name)
		return reply{Cut: cut}, err
	}},
	"compact": {compactWithin, func(ctx context.Context, d *door, in request) (reply, error) {
		return reply{}, d.s.Compact(ctx, in.Name)
	}},
	"model": {0, func(_ context.Context, d *door, in request) (reply, error) {
		return reply{}, d.s.SetModel(in.Name)
	}},

	"send": {0, func(_ context.Context, d *door, in request) (reply, error) {
		posted, err := d.s.SendClass(in.To, in.Text, in.Class)
		return reply{Posted: posts(posted)}, err
	}},
	"say": {0, func(_ context.Context, d *door, in request) (reply, error) {
		return reply{}, d.s.Say(in.Text)
	}},
	"mailbox": {0, func(_ context.Context, d *door, in request) (reply, error) {
		all, err := d.s.Inbox(in.Name)
		return reply{Traces: all}, err
	}},
	"message": {0, func(_ context.Context, d *door, in request) (reply, error) {
		m, err := d.s.Message(mailbox.ID(in.Name))
		return reply{Traces: []Trace{m}}, err
	}},
	"letter": {0, func(_ context.Context, d *door, in request) (reply, error) {
		if in.Letter == nil {
			return reply{}, errNoLetter
		}
		out, err := d.s.takeLetter(mailbox.OfSession(in.Letter.Session), in.Letter)
		return reply{Letter: &out}, err
	}},
	"questions": {0, func(_ context.Context, d *door, _ request) (reply, error) {
		return reply{Questions: d.s.Questions()}, nil
	}},
	"answer": {0, func(_ context.Context, d *door, in request) (reply, error) {
		if in.Answer == nil {
			return reply{}, errNoAnswer
		}
		return reply{}, d.s.Answer(in.Name, *in.Answer)
	}},

	"bridge": {0, func(_ context.Context, d *door, in request) (reply, error) {
		return reply{}, d.s.SetBridge(in.Name, in.Allow)
	}},
	"bridge-withdraw": {0, func(_ context.Context, d *door, in request) (reply, error) {
		return reply{}, d.s.WithdrawBridge(in.Name)
	}},

	"bus": {0, func(_ context.Context, d *door, _ request) (reply, error) {
		bus, err := d.s.Bus()
		return reply{Bus: &bus}, err
	}},
	"bus-add": {0, func(_ context.Context, d *door, in request) (reply, error) {
		made, err := d.s.AddBusUser(in.Name)
		return reply{Credentials: &made}, err
	}},
	"bus-remove": {0, func(_ context.Context, d *door, in request) (reply, error) {
		return reply{}, d.s.RemoveBusUser(in.Name)
	}},

	"hello": {0, func(_ context.Context, d *door, _ request) (reply, error) {
		w, err := d.s.welcome()
		return reply{Welcome: &w}, err
	}},
	"quit": {0, func(_ context.Context, d *door, _ request) (reply, error) {
		d.s.askToQuit()
		return reply{}, nil
	}},
	"tail": {0, func(_ context.Context, d *door, _ request) (reply, error) {
		d.tail()
		return reply{}, nil
	}},
	"untail": {0, func(_ context.Context, d *door, _ request) (reply, error) {
		d.readers.Add(-1)
		return reply{}, nil
	}},
}

var outsideVerbs = []string{"join", "leave", "post", "inbox", "text", "read", "respond", "task", "ask"}

func (d *door) do(name string, in request) (reply, error) {
	if v, ok := verbs[name]; ok {
		ctx, cancel := d.s.scope, func() {}
		if v.within > 0 {
			ctx, cancel = context.WithTimeout(ctx, v.within)
		}
		defer cancel()
		return v.do(ctx, d, in)
	}
	if slices.Contains(outsideVerbs, name) {
		out, err := d.s.serveOutside(d.s.scope, name, in.Outside)
		return reply{Outside: out}, err
	}
	if rest, ok := strings.CutPrefix(name, "team"); ok {
		ctx, cancel := context.WithTimeout(d.s.scope, teamWithin)
		defer cancel()
		return d.doTeam(ctx, rest, in)
	}
	known := slices.Concat(slices.Sorted(maps.Keys(verbs)), outsideVerbs, []string{"team", "teams", "team-up", "team-add", "team-remove", "team-down"})
	return reply{}, fmt.Errorf("there is no request %q; there are %s", name, strings.Join(known, ", "))
}

// tail publishes the session's facts for one more reader.
func (d *door) tail() {
	d.readers.Add(1)
	d.telling.Do(func() {
		sub := d.s.bus.Subscribe()
		d.work.Go(func() { d.tell(sub) })
	})
}
