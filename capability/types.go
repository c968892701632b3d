package capability

import mcpedgev1 "github.com/mcpedge/mcpedge/gen/mcpedge/v1"

// The contract's messages, under the names that authors of backends use. They are protobuf
// messages: pass them by pointer, and do not modify one after passing it to this package.
//
// They are shown knowingly: gRPC's Go programs pass generated structs by pointer, a plain call
// converts nothing, and a member that the contract adds is there at once. Importing package gen is
// not needed: Text, Image, Audio, Link, Embed and RawContent make content, c.GetText().GetText()
// and the like read it, also if it has another kind, and new(0.5) sets an optional member.
type (
	// Tool describes a tool. AddTool fills it in; AddRawTool takes it complete. MCP: Tool.
	Tool = mcpedgev1.Tool
	// ToolAnnotations are a tool's behaviour hints. MCP: ToolAnnotations.
	ToolAnnotations = mcpedgev1.ToolAnnotations
	// Skill describes a skill and all its files. MCP: Skill of the extension
	// io.modelcontextprotocol/skills.
	Skill = mcpedgev1.Skill
	// SkillFile is one file of a skill, with its digest. MCP: SkillResource of the same extension.
	SkillFile = mcpedgev1.SkillFile
	// Resource describes a resource that clients can read. MCP: Resource.
	Resource = mcpedgev1.Resource
	// ResourceTemplate describes resources by an RFC 6570 template. MCP: ResourceTemplate.
	ResourceTemplate = mcpedgev1.ResourceTemplate
	// ResourceContents are the contents of a resource. MCP: TextResourceContents,
	// BlobResourceContents.
	ResourceContents = mcpedgev1.ResourceContents
	// Prompt describes a prompt. MCP: Prompt.
	Prompt = mcpedgev1.Prompt
	// PromptArgument is one argument of a prompt. MCP: PromptArgument.
	PromptArgument = mcpedgev1.PromptArgument
	// PromptMessage is a message of a prompt. MCP: PromptMessage.
	PromptMessage = mcpedgev1.PromptMessage
	// PromptResult is the result of a prompt, with its description. MCP: GetPromptResult.
	PromptResult = mcpedgev1.GetPromptResult
	// Content is one block of a result or message. MCP: ContentBlock.
	Content = mcpedgev1.ContentBlock
	// Annotations advise a client how to use an object. MCP: Annotations.
	Annotations = mcpedgev1.Annotations
	// Icon is an image that a client may show. MCP: Icon.
	Icon = mcpedgev1.Icon
	// Implementation names a client or server program. MCP: Implementation.
	Implementation = mcpedgev1.Implementation
	// Principal is the caller, as verified by the edge. An empty subject means anonymous.
	Principal = mcpedgev1.Principal
	// ClientCapabilities are the features that a client has declared: elicitation, sampling, roots. MCP: ClientCapabilities.
	ClientCapabilities = mcpedgev1.ClientCapabilities
	// SamplingRequest is a request to the client's model. MCP: CreateMessageRequestParams.
	SamplingRequest = mcpedgev1.CreateMessage
	// ModelPreferences advise a client which model to use. MCP: ModelPreferences.
	ModelPreferences = mcpedgev1.ModelPreferences
	// SamplingMessage is a message of a conversation with the client's model. MCP: SamplingMessage.
	SamplingMessage = mcpedgev1.SamplingMessage
	// SamplingContent is one block of a SamplingMessage. MCP: SamplingMessageContentBlock.
	SamplingContent = mcpedgev1.SamplingContent
	// SamplingResult is the response of the client's model. MCP: CreateMessageResult.
	SamplingResult = mcpedgev1.CreateMessageResult
	// Root is a directory or file that the client works on. MCP: Root.
	Root = mcpedgev1.Root
	// InputRequest is a question to the client. Most handlers use Ask and related methods instead.
	InputRequest = mcpedgev1.InputRequest
	// InputResponse is an answer of the client. Most handlers use Ask and related methods instead.
	InputResponse = mcpedgev1.InputResponse
)

// Role is the author of a message. MCP: Role.
type Role = mcpedgev1.Role

// The roles of a message.
const (
	User      = mcpedgev1.Role_ROLE_USER
	Assistant = mcpedgev1.Role_ROLE_ASSISTANT
)

// LogLevel is the severity of a log message, as in RFC 5424. A greater value is more severe. MCP:
// LoggingLevel.
type LogLevel = mcpedgev1.LogLevel

// The levels of Call.Log.
const (
	LevelDebug     = mcpedgev1.LogLevel_LOG_LEVEL_DEBUG
	LevelInfo      = mcpedgev1.LogLevel_LOG_LEVEL_INFO
	LevelNotice    = mcpedgev1.LogLevel_LOG_LEVEL_NOTICE
	LevelWarning   = mcpedgev1.LogLevel_LOG_LEVEL_WARNING
	LevelError     = mcpedgev1.LogLevel_LOG_LEVEL_ERROR
	LevelCritical  = mcpedgev1.LogLevel_LOG_LEVEL_CRITICAL
	LevelAlert     = mcpedgev1.LogLevel_LOG_LEVEL_ALERT
	LevelEmergency = mcpedgev1.LogLevel_LOG_LEVEL_EMERGENCY
)
