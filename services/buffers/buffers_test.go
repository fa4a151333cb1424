package buffers

import (
	"strings"
	"testing"

	"google.golang.org/grpc/encoding"
	_ "google.golang.org/grpc/encoding/proto" // The codec under test.
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// TestBuffersFit: a buffer has at most twice the size that is asked for, both of the pool and of the codec, which knows the default only.
func TestBuffersFit(t *testing.T) {
	t.Parallel()
	for size := 16 << 10; size <= 1<<20; size += 1000 {
		for name, pool := range map[string]mem.BufferPool{"ours": Pool, "the default": mem.DefaultBufferPool()} {
			buffer := pool.Get(size)
			if cap(*buffer) > 2*size {
				t.Errorf("%s: %d bytes take %d", name, size, cap(*buffer))
			}
			pool.Put(buffer)
		}
	}
	const request = 85 << 10 // 1 000 servers.
	encoded, err := encoding.GetCodecV2("proto").Marshal(wrapperspb.String(strings.Repeat("x", request)))
	if err != nil {
		t.Fatal(err)
	}
	defer encoded.Free()
	for _, part := range encoded {
		if data := part.ReadOnlyData(); cap(data) > 2*request {
			t.Errorf("a request of %d KiB takes %d KiB", request>>10, cap(data)>>10)
		}
	}
}
