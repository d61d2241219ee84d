// Command mutate breaks a package on purpose, one small change at a time, and prints
// the changes that no test of the package notices.
//
//	go run ./internal/mutate -n 150 -seed 1 -min 85 ./mailbox ./internal/journal
//
// It makes the mutants of a package (mutants.go lists the kinds), draws -n of
// them with -seed, builds the package's tests with each (go test -overlay, so that
// no file of the tree changes), and runs the tests that reach the changed place. A
// mutant that does not compile does not count. One that fails a test, or makes it exceed
// its time limit, is killed; the others survive and are printed. The program
// fails if fewer than -min percent of the mutants of a package are killed.
//
// A survivor shows a missing test, or a change that changes nothing. docs/mutation.md
// keeps the figures of the packages that hold promises, with a reason for each
// survivor.
package main

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

func main() {
	var o options
	flag.IntVar(&o.n, "n", 100, "how many mutants of each package to try; 0 tries all")
	flag.Uint64Var(&o.seed, "seed", 1, "draws the mutants")
	flag.IntVar(&o.workers, "p", 1, "how many mutants to try at the same time")
	flag.Float64Var(&o.min, "min", 0, "fail if a smaller percentage is killed")
	flag.StringVar(&o.files, "files", "*", "mutate only files whose names match this pattern")
	flag.BoolVar(&o.verbose, "v", false, "print each mutant, not only the survivors")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	ok := true
	for _, dir := range flag.Args() {
		score, err := try(ctx, dir, o)
		if err != nil {
			fmt.Fprintf(os.Stderr, "mutate: %s: %v\n", dir, err)
			os.Exit(1)
		}
		ok = ok && score >= o.min
	}
	if !ok {
		fmt.Fprintf(os.Stderr, "mutate: fewer than %.0f %% of the mutants of a package are killed\n", o.min)
		os.Exit(1)
	}
}

type options struct {
	n, workers int
	seed       uint64
	min        float64
	files      string
	verbose    bool
}

// try runs the mutants of the package in dir and returns what percentage of
// those that compile was killed.
func try(ctx context.Context, dir string, o options) (float64, error) {
	all, err := mutantsOf(dir, o.files)
	if err != nil {
		return 0, err
	}
	s, err := newSuite(ctx, dir)
	if err != nil {
		return 0, err
	}
	defer s.close()
	drawn := draw(all, o.n, o.seed)
	start := time.Now()
	verdicts := make([]verdict, len(drawn))
	next := make(chan int)
	var wait sync.WaitGroup
	for range max(1, o.workers) {
		wait.Go(func() {
			for i := range next {
				verdicts[i] = s.try(ctx, drawn[i])
				if o.verbose || verdicts[i] == survived || verdicts[i] == unreached {
					fmt.Printf("%-12s%s\n", verdicts[i], drawn[i])
				}
			}
		})
	}
	for i := range drawn {
		if ctx.Err() != nil {
			break
		}
		next <- i
	}
	close(next)
	wait.Wait()
	return report(dir, len(all), verdicts, time.Since(start)), ctx.Err()
}

// draw returns n of the mutants, the same ones for the same seed, in the order of
// the source.
func draw(all []mutant, n int, seed uint64) []mutant {
	drawn := slices.Clone(all)
	rand.New(rand.NewPCG(seed, 0)).Shuffle(len(drawn), func(i, j int) { drawn[i], drawn[j] = drawn[j], drawn[i] })
	if n > 0 && n < len(drawn) {
		drawn = drawn[:n]
	}
	slices.SortFunc(drawn, func(a, b mutant) int {
		if c := strings.Compare(a.file, b.file); c != 0 {
			return c
		}
		return a.from - b.from
	})
	return drawn
}

func report(dir string, all int, verdicts []verdict, took time.Duration) float64 {
	count := map[verdict]int{}
	for _, v := range verdicts {
		count[v]++
	}
	dead := count[killed] + count[timedOut]
	valid := dead + count[survived] + count[unreached]
	score := 100.0
	if valid > 0 {
		score = 100 * float64(dead) / float64(valid)
	}
	fmt.Printf("%s: %d of %d mutants tried in %s: %d do not compile; of %d valid ones %d are killed (%d by their limit of time), %d survive, %d of them where no test comes: %.1f %%\n",
		filepath.ToSlash(dir), len(verdicts), all, took.Round(time.Second), count[invalid], valid, dead, count[timedOut],
		count[survived]+count[unreached], count[unreached], score)
	return score
}
