package ecs_test

import (
	"testing"

	"alicloud-controllers.dev/cloudgateway/openapisim/ecs"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/apitest"
)

func TestMain(m *testing.M) { apitest.Main(m, ecs.Product()) }
