package settings

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/actorswarm/swarm/internal/trust"
)

// follow begins to follow the files.
func follow(t *testing.T) (f *Follower, dir, managed, state string, store *trust.Store) {
	t.Helper()
	_, dir, from := places(t)
	from.ManagedDir, state = t.TempDir(), t.TempDir()
	store = trust.Open(state)
	f, err := Follow(from, state, store.State)
	if err != nil {
		t.Fatal(err)
	}
	return f, dir, from.ManagedDir, state, store
}

func TestChangesTakeEffect(t *testing.T) {
	f, dir, managed, _, _ := follow(t)
	if p, _ := f.Permissions(); p.Deny != nil {
		t.Errorf("at first: %+v", p)
	}
	write(t, dir, "settings.json", `{"permissions": {"deny": ["A"], "ask": ["B"]}}`)
	if p, again := f.Permissions(); !again || texts(p.Deny) != "A" || texts(p.Ask) != "B" {
		t.Errorf("a new file: %v, %+v", again, p)
	}
	writeFile(t, filepath.Join(managed, "managed-settings.json"), `{"permissions": {"deny": ["M"]}}`)
	if p, _ := f.Permissions(); texts(p.Deny) != "M A" {
		t.Errorf("managed settings: %+v", p)
	}
	writeFile(t, filepath.Join(managed, "managed-settings.json"), `{"permissions": {}}`)
	if p, _ := f.Permissions(); texts(p.Deny) != "A" {
		t.Errorf("a rule of managed settings was removed: %+v", p)
	}
}

func TestWhatLoosensLaterNeedsTrust(t *testing.T) {
	f, dir, _, _, store := follow(t)
	path := write(t, dir, "settings.json", `{"permissions": {"allow": ["A"]}}`)
	p, _ := f.Permissions()
	if p.Allow != nil || len(p.LeftOut) != 1 {
		t.Errorf("without trust: %+v", p)
	}
	if err := store.Add(dir, []trust.Item{itemOf(path, "permissions", []byte(`{"allow":["A"]}`))}); err != nil {
		t.Fatal(err)
	}
	if p, _ := f.Permissions(); texts(p.Allow) != "A" {
		t.Errorf("with trust: %+v", p)
	}
	write(t, dir, "settings.json", `{"permissions": {"allow": ["A", "B"]}}`)
	if p, _ := f.Permissions(); p.Allow != nil {
		t.Errorf("after a change: %+v", p)
	}
}

func TestRemovedRulesOfADirectoryHold(t *testing.T) {
	f, dir, _, _, _ := follow(t)
	path := write(t, dir, "settings.json", `{"permissions": {"deny": ["A"], "ask": ["B"]}}`)
	f.Permissions()
	for range 2 {
		if err := os.RemoveAll(path); err != nil {
			t.Fatal(err)
		}
		p, _ := f.Permissions()
		if texts(p.Deny) != "A" || texts(p.Ask) != "B" || texts(p.Held.Deny)+texts(p.Held.Ask) != "AB" || len(p.Notes) != 2 || p.Notes[0] != path+":1: the deny rule A was removed, and holds until the session is opened again" {
			t.Errorf("%+v", p)
		}
		write(t, dir, "settings.json", `{}`)
		if p, _ := f.Permissions(); texts(p.Deny) != "A" || texts(p.Ask) != "B" {
			t.Errorf("after another change: %+v", p)
		}
	}
}

func TestFilesThatBreakLaterDeny(t *testing.T) {
	f, dir, managed, _, _ := follow(t)
	write(t, dir, "settings.json", `{"permissions": {"deny": ["A"]}}`)
	writeFile(t, filepath.Join(managed, "managed-settings.json"), `{`)
	p, _ := f.Permissions()
	if texts(p.Deny) != "*" || !strings.Contains(p.Deny[0].Source, "managed-settings.json:1") || len(p.Notes) != 1 {
		t.Errorf("%+v", p)
	}
	writeFile(t, filepath.Join(managed, "managed-settings.json"), `{}`)
	if p, _ := f.Permissions(); texts(p.Deny) != "A" {
		t.Errorf("after the correction: %+v", p)
	}
}
