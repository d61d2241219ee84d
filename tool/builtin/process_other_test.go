//go:build !linux

package builtin

// What lives cannot be seen here.
func (k *kit) gone() {}

const actAsRuntime = "SWARM_TEST_RUNTIME"

func actRuntime(string) {}
