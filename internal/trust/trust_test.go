package trust

import (
	"os"
	"path/filepath"
	"testing"
)

func TestNothingIsTrustedUnasked(t *testing.T) {
	state, dir := t.TempDir(), t.TempDir()
	item := Item{Dir: dir, Name: "hooks", Text: "true"}
	if Open(state).Trusts(item) {
		t.Error("a directory is trusted that nobody has trusted")
	}
	if err := Open(state).Add(dir, []Item{item}); err != nil {
		t.Fatal(err)
	}
	if !Open(state).Trusts(item) {
		t.Error("what was added is not trusted")
	}
	if err := os.WriteFile(filepath.Join(state, "trust.json"), []byte(`{"directories": 3}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if Open(state).Trusts(item) {
		t.Error("a record that cannot be read trusts something")
	}
	if err := Open(state).Add(dir, []Item{item}); err == nil {
		t.Error("a record that cannot be read was written over")
	}
}

func TestAChangeAsksAnew(t *testing.T) {
	s, dir := Open(t.TempDir()), t.TempDir()
	item := Item{Dir: dir, Name: "hooks", Text: "true"}
	if err := s.Add(dir, []Item{item}); err != nil {
		t.Fatal(err)
	}
	for other, want := range map[Item]State{
		item: Trusted, {dir, "hooks", "false"}: Changed, {dir, "other", "true"}: Untrusted, {t.TempDir(), "hooks", "true"}: Untrusted,
	} {
		if s.Trusts(other) != (want == Trusted) || s.State(other) != want {
			t.Errorf("%+v is in state %v, want %v", other, s.State(other), want)
		}
	}
	if now := (Item{dir, "hooks", "false"}); s.Replace(item, now) != nil || s.State(now) != Trusted || s.State(item) != Changed {
		t.Errorf("after a replacement the new text is in state %v, the old one in %v", s.State(now), s.State(item))
	}
	if err := s.Remove(dir); err != nil {
		t.Fatal(err)
	}
	if s.Trusts(item) {
		t.Error("what was removed is trusted")
	}
}

func TestAnotherDirectoryAtThePathIsNotTrusted(t *testing.T) {
	s, above := Open(t.TempDir()), t.TempDir()
	dir, link := filepath.Join(above, "a"), filepath.Join(above, "link")
	item := Item{Dir: dir, Name: "hooks", Text: "true"}
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	if err := s.Add(link, []Item{item}); err != nil {
		t.Fatal(err)
	}
	if !s.Trusts(item) {
		t.Error("the directory behind the link is not trusted")
	}
	if err := os.Rename(dir, filepath.Join(above, "moved")); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if s.Trusts(item) {
		t.Error("another directory at the path is trusted")
	}
}

func TestAddReplaces(t *testing.T) {
	s, dir := Open(t.TempDir()), t.TempDir()
	old, now := Item{dir, "hooks", "old"}, Item{dir, "hooks", "new"}
	for _, i := range []Item{old, now} {
		if err := s.Add(dir, []Item{i}); err != nil {
			t.Fatal(err)
		}
	}
	if s.Trusts(old) || !s.Trusts(now) {
		t.Errorf("old %v, new %v", s.Trusts(old), s.Trusts(now))
	}
}

func TestReplaceChangesOneItem(t *testing.T) {
	s, dir := Open(t.TempDir()), t.TempDir()
	other, old, now := Item{dir, "hooks", "x"}, Item{dir, "permissions", "old"}, Item{dir, "permissions", "new"}
	if err := s.Add(dir, []Item{other, old}); err != nil {
		t.Fatal(err)
	}
	if err := s.Replace(old, now); err != nil {
		t.Fatal(err)
	}
	if !s.Trusts(other) || s.Trusts(old) || !s.Trusts(now) {
		t.Errorf("the other is trusted: %v, the old: %v, the new: %v", s.Trusts(other), s.Trusts(old), s.Trusts(now))
	}
	first := Item{t.TempDir(), "permissions", "x"}
	if err := s.Replace(Item{}, first); err != nil || !s.Trusts(first) {
		t.Errorf("the first of a directory: %v", err)
	}
}

func TestDeclinedItemsAreKnown(t *testing.T) {
	s, dir := Open(t.TempDir()), t.TempDir()
	good, bad := Item{dir, "hooks", "good"}, Item{dir, "other", "bad"}
	if err := s.Add(dir, []Item{good}); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := s.Decline(dir, []Item{good, bad}); err != nil {
			t.Fatal(err)
		}
	}
	if !s.Trusts(good) || s.Declined(good) || s.Trusts(bad) || !s.Declined(bad) {
		t.Errorf("good is trusted: %v, bad: %v", s.Trusts(good), s.Trusts(bad))
	}
	if changed := (Item{dir, "other", "worse"}); s.Declined(changed) || s.Trusts(changed) {
		t.Error("a text that has changed was declined, or is trusted")
	}
	if err := s.Add(dir, []Item{good, bad}); err != nil {
		t.Fatal(err)
	}
	if !s.Trusts(bad) || s.Declined(bad) {
		t.Error("what is trusted now is declined still")
	}
}
