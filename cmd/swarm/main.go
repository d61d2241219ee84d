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
//   - A run that is ended by a signal is never lost: its work is on disk, and the
//     command that continues it is printed (TestSIGTERMLeavesTheTurnOpen,
//     TestKilledInMidTurnResumeGoesOnAndRepeatsNothing).
//   - No process survives the command, even after the second Ctrl-C. Only a
//     session that is served apart runs on, until it is quit
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
