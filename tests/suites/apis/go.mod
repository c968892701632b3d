module github.com/mcpedge/mcpedge/tests/suites/apis

go 1.26.0

require (
	buf.build/gen/go/bufbuild/registry/protocolbuffers/go v1.36.12-20261015154428-c661e2f1fba9.2
	cloud.google.com/go/firestore v1.29.0
	cloud.google.com/go/kms v1.35.0
	cloud.google.com/go/logging v1.21.0
	cloud.google.com/go/longrunning v1.4.0
	cloud.google.com/go/pubsub/v2 v2.8.0
	cloud.google.com/go/spanner v1.96.1
	github.com/bufbuild/protocompile v0.14.1
	github.com/containerd/containerd/api v1.12.0
	github.com/envoyproxy/go-control-plane/envoy v1.40.0
	github.com/milvus-io/milvus-proto/go-api/v2 v2.6.18
	github.com/pingcap/kvproto v0.0.0-20260608025309-50b863799195
	github.com/qdrant/go-client v1.17.1
	go.etcd.io/etcd/api/v3 v3.7.3
	go.opentelemetry.io/proto/otlp v1.11.0
	go.temporal.io/api v1.64.1
	google.golang.org/genproto v0.0.0-20260715232425-e75dac1f907d
	google.golang.org/grpc v1.85.0
	google.golang.org/protobuf v1.36.12
	k8s.io/cri-api v0.37.2
)

require (
	buf.build/gen/go/bufbuild/protovalidate/protocolbuffers/go v1.36.12-20260825204119-511051f7f437.2 // indirect
	cel.dev/expr v0.25.3 // indirect
	github.com/cncf/xds/go v0.0.0-20260202195803-dba9d589def2 // indirect
	github.com/containerd/log v0.1.0 // indirect
	github.com/containerd/ttrpc v1.2.9 // indirect
	github.com/envoyproxy/protoc-gen-validate v1.3.3 // indirect
	github.com/golang/protobuf v1.5.4 // indirect
	github.com/grpc-ecosystem/grpc-gateway/v2 v2.29.0 // indirect
	github.com/nexus-rpc/nexus-proto-annotations v0.1.0 // indirect
	github.com/opencontainers/go-digest v1.0.0 // indirect
	github.com/opencontainers/image-spec v1.1.1 // indirect
	github.com/planetscale/vtprotobuf v0.6.1-0.20240319094008-0393e58bdf10 // indirect
	github.com/sirupsen/logrus v1.10.2 // indirect
	golang.org/x/net v0.61.0 // indirect
	golang.org/x/sync v0.24.0 // indirect
	golang.org/x/sys v0.49.0 // indirect
	golang.org/x/text v0.43.0 // indirect
	google.golang.org/genproto/googleapis/api v0.0.0-20260928230214-8a89bd6388cc // indirect
	google.golang.org/genproto/googleapis/rpc v0.0.0-20260928230214-8a89bd6388cc // indirect
)
