// Command swarm runs swarms of agents on a directory from a terminal, a script
// or another program.
//
// Laws:
//
//   - Standard output holds the result and nothing else. Progress, warnings and
//     errors go to standard error (TestScripts/run).
//   - Exit status: 0 done, 1 it failed or ended early, 2 the command line is
//     wrong, 129, 130 and 143 ended by SIGHUP, SIGINT and SIGTERM (TestScripts/usage,
//     TestTheFirstSignalDecidesTheExitStatus).
//   - Ended from outside, a run is never lost: what was done is on disk, and the
//     line that goes on with it is printed (TestSIGTERMLeavesTheTurnOpen,
//     TestKilledInMidTurnResumeGoesOnAndRepeatsNothing).
//   - Nothing survives the command: not after the second Ctrl-C either. Only a
//     session that is served apart outlives who started it, until it is quit
//     (TestPromise4_NoEndOfARunLeavesAProcess,
//     TestCtrlCTwiceQuitsWithin2sAndLeavesNoProcess).
package main

import (
	"context"
	"os"
)

func main() {
	os.Exit(run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr, os.Getenv))
}
