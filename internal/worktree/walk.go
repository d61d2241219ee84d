package worktree

import (
	"io/fs"
	"os"
	"path/filepath"
)

// fileList is what a walk over a worktree finds.
type fileList struct {
	// files maps the relative path of each regular file and link to git's mode.
	files map[string]string
	// nested are directories with a .git of their own; they are not entered.
	nested []string
}

// walk lists a worktree's files. It follows no link.
func walk(top string) (fileList, error) {
	out := fileList{files: map[string]string{}}
	err := filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(top, path)
		if err != nil || rel == "." || rel == ".git" {
			return err
		}
		if d.IsDir() {
			if _, err := os.Lstat(filepath.Join(path, ".git")); err == nil {
				out.nested = append(out.nested, rel)
				return filepath.SkipDir
			}
			return nil
		}
		return out.add(rel, d)
	})
	return out, err
}

func (f *fileList) add(rel string, d fs.DirEntry) error {
	fi, err := d.Info()
	if err != nil {
		return err
	}
	switch {
	case fi.Mode()&fs.ModeSymlink != 0:
		f.files[rel] = "120000"
	case fi.Mode().IsRegular() && fi.Mode()&0o100 != 0:
		f.files[rel] = "100755"
	case fi.Mode().IsRegular():
		f.files[rel] = "100644"
	}
	return nil
}
