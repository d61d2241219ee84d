package kernel_test

import (
	"context"
	"fmt"

	"github.com/actorswarm/swarm/actors/kernel"
)

type add int

type total struct{ reply chan<- int }

// counter keeps its sum until it is restarted.
type counter struct{ sum int }

func (c *counter) Receive(_ *kernel.Context, msg any) {
	switch m := msg.(type) {
	case add:
		c.sum += int(m)
	case total:
		m.reply <- c.sum
	}
}

func Example() {
	ctx := context.Background()
	system := kernel.New(kernel.Options{})
	ref, err := system.Spawn("counter@1", func() kernel.Behavior { return &counter{} }, kernel.SpawnOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	ref.Tell(add(2))
	ref.Tell(add(3))
	sum, err := kernel.Ask(ctx, ref, func(reply chan<- int) any { return total{reply} })
	fmt.Println(sum, err)
	fmt.Println(system.Stop(ctx))
	// Output:
	// 5 <nil>
	// <nil>
}
