package worktree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// tips lists the commits that may be on record only in a worktree's metadata: its HEAD,
// its branch, their logs, and those of an unfinished operation.
func tips(ctx context.Context, g git, rec *record) ([]string, error) {
	head, err := g.line(ctx, "rev-parse", "--verify", "--quiet", "HEAD^{commit}")
	if ctx.Err() != nil {
		return nil, err
	}
	if err != nil {
		head = rec.Base // its branch was deleted; the base is what is left
	}
	out := []string{head}
	refs, err := g.line(ctx, "for-each-ref", "--format=%(objectname)", rec.ref(), "refs/worktree/", "refs/bisect/", "refs/rewritten/")
	if err != nil {
		return nil, err
	}
	out = append(out, lines(refs)...)
	admin := g.gitDir()
	for _, file := range []string{"ORIG_HEAD", "MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "REBASE_HEAD", "rebase-merge/orig-head", "rebase-merge/autostash", "rebase-apply/orig-head"} {
		ids, err := idsIn(filepath.Join(admin, file), 1)
		if err != nil {
			return nil, err
		}
		out = append(out, ids...)
	}
	for _, file := range []string{filepath.Join(admin, "logs/HEAD"), filepath.Join(rec.Common, "logs", rec.ref())} {
		ids, err := idsIn(file, 2)
		if err != nil {
			return nil, err
		}
		out = append(out, ids...)
	}
	return unique(out), nil
}

// idsIn reads the first n words of each line of a file that look like object ids.
func idsIn(path string, n int) ([]string, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the metadata of git: %w", err)
	}
	var out []string
	for line := range strings.Lines(string(text)) {
		for _, w := range strings.Fields(line)[:min(n, len(strings.Fields(line)))] {
			if isID(w) && strings.Trim(w, "0") != "" {
				out = append(out, w)
			}
		}
	}
	return out, nil
}

func isID(s string) bool {
	return (len(s) == 40 || len(s) == 64) && strings.Trim(s, "0123456789abcdef") == ""
}

// unreferenced lists the commits reachable from tips and from no other ref.
func unreferenced(ctx context.Context, g git, rec *record, tips []string) ([]string, error) {
	args := []string{"rev-list", "--ignore-missing", "--stdin"}
	var in strings.Builder
	for _, t := range tips {
		in.WriteString(t + "\n")
	}
	in.WriteString("^" + rec.Base + "\n")
	refs, err := g.line(ctx, "for-each-ref", "--format=%(refname)", "refs/heads", "refs/tags", "refs/remotes", "refs/stash", "refs/swarm/rescue")
	if err != nil {
		return nil, err
	}
	for _, ref := range lines(refs) {
		if ref != rec.ref() {
			in.WriteString("^" + ref + "\n")
		}
	}
	out, err := g.feed(ctx, []byte(in.String()), args...)
	return lines(string(out)), err
}

func unique(list []string) []string {
	seen := map[string]bool{}
	return slices.DeleteFunc(list, func(s string) bool {
		was := seen[s]
		seen[s] = true
		return was
	})
}
