package chaos

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/actorswarm/swarm/internal/journal"
	"github.com/actorswarm/swarm/internal/transcript"
	"github.com/actorswarm/swarm/mailbox"
	"github.com/actorswarm/swarm/model"
)

var word = regexp.MustCompile(`#([a-z0-9-]+)>([a-z0-9-]+):(\d+)\.(\d+)#`)

// ordinal is that of a message in the order of its pair.
func ordinal(step, n int) int { return step*1000 + n }

// ledger is what was accepted and what has come, by pair.
type ledger struct {
	accepted, doubtful, got map[string][]int
}

// check reads every conversation from disk.
func (c *cluster) check() {
	l := ledger{map[string][]int{}, map[string][]int{}, map[string][]int{}}
	launches := l.readAll(c.T, c.path)
	for id := range launches {
		l.readAll(c.T, filepath.Join(c.path, "nodes", string(id)))
	}
	if len(launches) != c.mates {
		c.Errorf("teammates and their launches: %v", launches)
	}
	for i := range c.posted() {
		key := fmt.Sprintf("c0>%s", c.names()[i%(c.mates+1)])
		l.accepted[key] = append(l.accepted[key], ordinal(i/(c.mates+1), 0))
	}
	seen := map[string]bool{}
	for _, line := range c.gotOutside() {
		id, text, _ := strings.Cut(line, " ")
		if m := word.FindStringSubmatch(text); m != nil && !seen[id] {
			l.add(c.T, l.got, m)
		}
		seen[id] = true
	}
	c.Logf("launches of teammates: %v", launches)
	l.compare(c.T)
}

// readAll reads the agents that a process hosts, and returns how often those that
// others host were started.
func (l ledger) readAll(t *testing.T, dir string) map[mailbox.AgentID]uint32 {
	store, err := transcript.Open(context.Background(), dir, session, transcript.Options{Journal: journal.Options{ReadOnly: true}, NoLines: true})
	if err != nil {
		t.Fatal(err)
	}
	launches := map[mailbox.AgentID]uint32{}
	for _, of := range store.All() {
		switch {
		case of.Record().Launch > 0:
			launches[of.ID()] = of.Record().Launch
		case of.Spec().Where == "" && of.Spec().Role.IsAgent():
			l.read(t, of)
		}
	}
	if err := store.Close(); err != nil {
		t.Error(err)
	}
	return launches
}

func (l ledger) add(t *testing.T, to map[string][]int, m []string) {
	step, err := strconv.Atoi(m[3])
	n, err2 := strconv.Atoi(m[4])
	if err := errors.Join(err, err2); err != nil {
		t.Fatal(err)
	}
	to[m[1]+">"+m[2]] = append(to[m[1]+">"+m[2]], ordinal(step, n))
}

// read takes an agent's calls with their results, and what others wrote to it.
func (l ledger) read(t *testing.T, of *transcript.Transcript) {
	msgs, err := of.Messages()
	if err != nil {
		t.Fatal(err)
	}
	me := of.Spec().Name
	if me == "lead" {
		me = "team-lead"
	}
	asked := map[string][]string{}
	for _, m := range msgs {
		for _, b := range m.Blocks() {
			switch w := asked[b.ToolUseID]; {
			case b.Type == model.TypeToolUse:
				if w := word.FindStringSubmatch(string(b.Input)); w != nil {
					asked[b.ID] = w
				}
			case b.Type == model.TypeText:
				for _, w := range word.FindAllStringSubmatch(b.Text, -1) {
					if w[2] != me {
						t.Errorf("%s has %s", me, w[0])
					}
					l.add(t, l.got, w)
				}
			case b.Type != model.TypeToolResult || w == nil:
			case !b.IsError && strings.Contains(b.Content, "queued for"):
				l.add(t, l.accepted, w)
			default:
				l.add(t, l.doubtful, w)
			}
		}
	}
}

// compare finds each accepted message once and in its sender's order, and nothing
// that nobody sent.
func (l ledger) compare(t *testing.T) {
	total, doubt, came := 0, 0, 0
	pairs := map[string]bool{}
	for _, m := range []map[string][]int{l.accepted, l.doubtful, l.got} {
		for pair := range m {
			pairs[pair] = true
		}
	}
	for pair := range pairs {
		accepted, doubtful, got := l.accepted[pair], l.doubtful[pair], l.got[pair]
		total, doubt, came = total+len(accepted), doubt+len(doubtful), came+len(got)
		for i := 1; i < len(got); i++ {
			if got[i] <= got[i-1] {
				t.Errorf("%s: %d came behind %d", pair, got[i], got[i-1])
			}
		}
		for _, n := range accepted {
			if !slices.Contains(got, n) {
				t.Errorf("%s: %d was accepted and has not come", pair, n)
			}
		}
		for _, n := range got {
			if !slices.Contains(accepted, n) && !slices.Contains(doubtful, n) {
				t.Errorf("%s: %d came and nobody was told that it was sent", pair, n)
			}
		}
	}
	t.Logf("%d messages were accepted, %d more were in doubt or refused, %d came, between %d pairs", total, doubt, came, len(pairs))
	if total == 0 {
		t.Error("nothing was sent")
	}
}
