package worktree

import (
	"errors"
	"fmt"
	"testing"

	"pgregory.net/rapid"
)

// TestOwnershipFollowsTheModel plays random lives of one agent's worktree
// against a model of who owns it and whether it holds work.
func TestOwnershipFollowsTheModel(t *testing.T) {
	p := newPlace(t)
	n := 0
	rapid.Check(t, func(rt *rapid.T) {
		n++
		m := &life{p: p, rt: rt, agent: fmt.Sprintf("m%d", n)}
		for range rapid.IntRange(1, 6).Draw(rt, "steps") {
			switch rapid.SampledFrom([]string{"lease", "adopt", "release", "stale", "work", "prune"}).Draw(rt, "step") {
			case "lease":
				m.lease()
			case "adopt":
				m.adopt()
			case "release":
				m.release(m.now, true)
			case "stale":
				m.release(m.before, false)
			case "work":
				m.work()
			case "prune":
				m.prune()
			}
		}
	})
}

// life is the model: owner 0 means that there is no worktree.
type life struct {
	p           *place
	rt          *rapid.T
	agent       string
	owner       uint32
	held, dirty bool
	now, before *Tree
}

func (m *life) lease() {
	inc := m.owner + 1
	tree, err := m.p.r.Lease(m.p.t.Context(), LeaseOptions{Agent: m.agent, Incarnation: inc, Root: m.p.root})
	if m.owner != 0 {
		if !errors.Is(err, ErrLeased) {
			m.rt.Fatalf("lease of what exists: %v", err)
		}
		return
	}
	if err != nil {
		m.rt.Fatal(err)
	}
	m.owner, m.held, m.dirty, m.now, m.before = inc, true, false, tree, nil
}

func (m *life) adopt() {
	inc := uint32(rapid.IntRange(0, int(m.owner)+1).Draw(m.rt, "incarnation"))
	tree, err := m.p.r.Adopt(m.p.t.Context(), AdoptOptions{Agent: m.agent, Incarnation: inc, Root: m.p.root})
	var superseded *SupersededError
	switch {
	case m.owner == 0:
		if !errors.Is(err, ErrNoLease) {
			m.rt.Fatalf("adopt of nothing: %v", err)
		}
	case inc < m.owner:
		if !errors.As(err, &superseded) {
			m.rt.Fatalf("adopt by %d of %d's: %v", inc, m.owner, err)
		}
	case err != nil:
		m.rt.Fatal(err)
	default:
		if inc > m.owner {
			m.before = m.now
		}
		m.owner, m.held, m.now = inc, true, tree
	}
}

func (m *life) release(tree *Tree, mine bool) {
	if tree == nil || m.owner == 0 {
		return
	}
	rel, err := tree.Release(m.p.t.Context())
	var superseded *SupersededError
	switch {
	case !mine:
		if !errors.As(err, &superseded) {
			m.rt.Fatalf("release by an old incarnation: %+v, %v", rel, err)
		}
	case err != nil || rel.Removed == m.dirty:
		m.rt.Fatalf("release with work %v: %+v, %v", m.dirty, rel, err)
	case rel.Removed:
		m.owner, m.held = 0, false
	default:
		m.held = false
	}
}

func (m *life) work() {
	if m.owner != 0 {
		m.p.write(m.now.Path, "work.txt", m.agent)
		m.dirty = true
	}
}

func (m *life) prune() {
	rescue := rapid.Bool().Draw(m.rt, "rescue")
	got, err := m.p.r.Prune(m.p.t.Context(), PruneOptions{Root: m.p.root, Agents: []string{m.agent}, Rescue: rescue})
	if err != nil {
		m.rt.Fatal(err)
	}
	if len(got) != min(int(m.owner), 1) {
		m.rt.Fatalf("prune saw %+v", got)
	}
	if m.owner == 0 {
		return
	}
	// Once rescued, the same content may go without being rescued again.
	switch want := !m.held && (!m.dirty || rescue); {
	case want && !got[0].Removed, m.held && got[0].Removed, m.dirty && got[0].Removed && got[0].Ref == "":
		m.rt.Fatalf("prune with rescue %v, held %v, work %v: %+v", rescue, m.held, m.dirty, got)
	case got[0].Removed:
		m.owner = 0
	}
}
