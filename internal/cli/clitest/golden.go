// Package clitest is the kit of the tests of the command line: the events of a run that
// contains each kind of event, and golden files.
//
//	for _, e := range clitest.Story() {
//		view.Handle(e)
//	}
//	clitest.Golden(t, "story", out.String()) // testdata/golden/story; -update writes it
package clitest

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// update is given to the tests of a package to write its golden files anew.
var update = flag.Bool("update", false, "write the golden files anew")

// Golden compares got with the file of a name in testdata/golden.
func Golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", "golden", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v; write it with -update", err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}
