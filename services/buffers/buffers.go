// Package buffers bounds what gRPC's messages take in memory. Its own pool knows no size between 32 KiB and 1 MiB, and
// a client keeps the buffer of a request until the call is answered, in case it has to be repeated: a request of 1 000
// servers has 85 KiB, so that a hundred of them that wait for the cloud held 100 MiB.
package buffers

import (
	"google.golang.org/grpc/experimental"
	"google.golang.org/grpc/mem"
)

// The sizes of buffers, as powers of two: those of gRPC, and each one between 32 KiB and 1 MiB.
const (
	small, page, frame = 8, 12, 14
	least, most        = 15, 20
)

// Pool is the pool of all clients and servers of the process. gRPC encodes messages with its default only, which can't
// be set later than here.
var Pool = install() //nolint:gochecknoglobals // gRPC has one for the process.

func install() mem.BufferPool {
	sizes := []uint8{small, page, frame}
	for size := uint8(least); size <= most; size++ {
		sizes = append(sizes, size)
	}
	pool, err := mem.NewBinaryTieredBufferPool(sizes...)
	if err != nil {
		return mem.DefaultBufferPool() // It only refuses sizes that the machine can't address.
	}
	experimental.SetDefaultBufferPool(pool)
	return pool
}
