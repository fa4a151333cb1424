package scope

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoregistry"

	"alicloud-controllers.dev/proto/method"
)

// errGone says that a request takes away what is not there. Such a request is not sent: until it reached the cloud there
// could be something with that id, of somebody else's. Some ids are numbers, of which the next one is known.
var errGone = errors.New("there is nothing to be taken away")

// confirmed reads once more what was found not to be there: what is remembered may be older than the resource.
func (g *Guard) confirmed(ctx context.Context, of Resource, gone error) (facts, error) {
	owner, ok := g.owners[of.Kind]
	if !ok {
		return facts{}, gone
	}
	tags, vpcID, err := owner.Facts(ctx, of.ID, 0)
	return facts{tags: tags, vpcID: vpcID}, err
}

// Gone is the answer to the deletion of what is not there; nil: only the handler can give it, which answers for each
// item.
func Gone(m method.Method) (proto.Message, error) {
	if m.Descriptor.Output().Fields().Len() > 0 {
		return nil, nil //nolint:nilnil // See above.
	}
	answer, err := protoregistry.GlobalTypes.FindMessageByName(m.Descriptor.Output().FullName())
	if err != nil {
		return nil, fmt.Errorf("answer %s: %w", m.FullName(), err)
	}
	return answer.New().Interface(), nil
}
