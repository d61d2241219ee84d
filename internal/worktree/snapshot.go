package worktree

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// snapshot is everything in a worktree, as objects of the repository.
type snapshot struct {
	tree  string // the files, byte for byte
	index string // what was staged
	tips  []string
	// ignored files were left out since they are ignored, and nested repositories
	// since git cannot hold one repository in another.
	ignored, nested []string
}

// snapshot stores the files without conversion, filter or hook, through indexes
// of its own. The worktree and its index are only read.
func (r *Repo) snapshot(ctx context.Context, rec *record, ignored bool) (*snapshot, error) {
	g, err := r.inside(rec)
	if err != nil {
		return nil, err
	}
	files, err := walk(rec.Path)
	if err != nil {
		return nil, fmt.Errorf("list the files of %s: %w", rec.Path, err)
	}
	s := &snapshot{nested: files.nested}
	if err := s.leaveOut(ctx, g, rec, files, ignored); err != nil {
		return nil, err
	}
	staged, err := g.list(ctx, "ls-files", "--stage", "-z")
	if err != nil {
		return nil, err
	}
	if s.tree, err = storeFiles(ctx, g, rec.Path, files, staged); err != nil {
		return nil, err
	}
	if s.index, err = storeIndex(ctx, g, staged); err != nil {
		return nil, err
	}
	s.tips, err = tips(ctx, g, rec)
	return s, err
}

// leaveOut drops files from the walk: unchanged copies, and ignored ones unless
// they are wanted.
func (s *snapshot) leaveOut(ctx context.Context, g git, rec *record, files fileList, ignored bool) error {
	names, err := g.list(ctx, "ls-files", "-z", "--others", "--ignored", "--exclude-standard")
	for _, name := range names {
		_, there := files.files[name]
		switch {
		case !there:
		case rec.stillIncluded(name):
			delete(files.files, name)
		case !ignored:
			s.ignored = append(s.ignored, name)
			delete(files.files, name)
		}
	}
	return err
}

// storeFiles writes every file as a blob and returns the tree of them.
func storeFiles(ctx context.Context, g git, top string, files fileList, staged []string) (tree string, err error) {
	dir, err := os.MkdirTemp("", "swarm-rescue-")
	if err != nil {
		return "", fmt.Errorf("make a directory for links: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	names := make([]string, 0, len(files.files))
	for name := range files.files {
		names = append(names, name)
	}
	slices.Sort(names)
	ids, err := hash(ctx, g, top, dir, names, files.files)
	if err != nil {
		return "", err
	}
	var entries []string
	for i, name := range names {
		entries = append(entries, files.files[name]+" "+ids[i]+"\t"+name)
	}
	for _, e := range staged {
		if strings.HasPrefix(e, "160000 ") {
			entries = append(entries, stage(e, 0))
		}
	}
	return writeTree(ctx, g, entries)
}

// hash stores the files with one command. The target of a link is stored from a file in
// dir, since git would follow the link.
func hash(ctx context.Context, g git, top, dir string, names []string, modes map[string]string) ([]string, error) {
	var in bytes.Buffer
	for i, name := range names {
		path := filepath.Join(top, name)
		if modes[name] == "120000" {
			to, err := os.Readlink(path)
			if err != nil {
				return nil, err
			}
			path = filepath.Join(dir, strconv.Itoa(i))
			if err := os.WriteFile(path, []byte(to), 0o600); err != nil {
				return nil, err
			}
		}
		in.WriteString(quote(path) + "\n")
	}
	out, err := g.feed(ctx, in.Bytes(), "hash-object", "-w", "--no-filters", "--stdin-paths")
	if err != nil {
		return nil, err
	}
	ids := lines(string(out))
	if len(ids) != len(names) {
		return nil, fmt.Errorf("git stored %d of %d files of %s", len(ids), len(names), top)
	}
	return ids, nil
}

// quote writes a path as git reads it in a list of lines.
func quote(path string) string {
	if !strings.ContainsAny(path, "\n\"\\") {
		return path
	}
	return `"` + strings.NewReplacer("\n", `\n`, `"`, `\"`, `\`, `\\`).Replace(path) + `"`
}

// storeIndex returns the tree of what was staged. The sides of a conflict go
// below .swarm-unmerged.
func storeIndex(ctx context.Context, g git, staged []string) (string, error) {
	// An intent to add refers to the empty blob, which may not exist.
	if _, err := g.out(ctx, "hash-object", "-w", "--stdin"); err != nil {
		return "", err
	}
	var entries []string
	for _, e := range staged {
		entries = append(entries, stage(e, 3))
	}
	return writeTree(ctx, g, entries)
}

// stage turns a line of ls-files --stage, "MODE ID STAGE\tPATH", into an entry
// for update-index. Conflicts up to the given stage are moved aside.
func stage(line string, conflicts int) string {
	meta, path, _ := strings.Cut(line, "\t")
	f := strings.Fields(meta)
	if n, err := strconv.Atoi(f[2]); err == nil && n > 0 && n <= conflicts {
		path = ".swarm-unmerged/" + f[2] + "/" + path
	}
	return f[0] + " " + f[1] + "\t" + path
}

func writeTree(ctx context.Context, g git, entries []string) (tree string, err error) {
	err = withIndex(ctx, g, func(g git) error {
		if _, err := g.feed(ctx, []byte(strings.Join(append(entries, ""), "\x00")), "update-index", "-z", "--index-info"); err != nil {
			return err
		}
		tree, err = g.line(ctx, "write-tree")
		return err
	})
	return tree, err
}
