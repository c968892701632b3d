package capability

import mcpedgev1 "github.com/mcpedge/mcpedge/gen/mcpedge/v1"

// The contract's own messages, under the names a capability author needs. They are protobuf
// messages: handle them by pointer, and do not change one after handing it over.
type (
	// Tool describes a tool; AddTool fills it in, AddRawTool takes it whole. MCP: Tool.
	Tool = mcpedgev1.Tool
	// ToolAnnotations are a tool's behaviour hints. MCP: ToolAnnotations.
	ToolAnnotations = mcpedgev1.ToolAnnotations
	// Skill describes a skill by all its files. MCP: Skill of the extension io.modelcontextprotocol/skills.
	Skill = mcpedgev1.Skill
	// SkillFile is one file of a skill, with its digest. MCP: SkillResource of the same extension.
	SkillFile = mcpedgev1.SkillFile
	// Resource describes what can be read. MCP: Resource.
	Resource = mcpedgev1.Resource
	// ResourceTemplate describes resources by an RFC 6570 template. MCP: ResourceTemplate.
	ResourceTemplate = mcpedgev1.ResourceTemplate
	// ResourceContents is what was read. MCP: TextResourceContents, BlobResourceContents.
	ResourceContents = mcpedgev1.ResourceContents
	// Prompt describes a prompt. MCP: Prompt.
	Prompt = mcpedgev1.Prompt
	// PromptArgument is one argument of a prompt. MCP: PromptArgument.
	PromptArgument = mcpedgev1.PromptArgument
	// PromptMessage is one turn of a prompt. MCP: PromptMessage.
	PromptMessage = mcpedgev1.PromptMessage
	// PromptResult is a prompt filled in, with its description. MCP: GetPromptResult.
	PromptResult = mcpedgev1.GetPromptResult
	// Content is one piece of a result or of a message. MCP: ContentBlock.
	Content = mcpedgev1.ContentBlock
	// Annotations tell a client how to use an object. MCP: Annotations.
	Annotations = mcpedgev1.Annotations
	// Icon is an image a client may show. MCP: Icon.
	Icon = mcpedgev1.Icon
	// Implementation names a piece of software. MCP: Implementation.
	Implementation = mcpedgev1.Implementation
	// Principal is who is calling, as the edge verified it; an empty subject is anonymous.
	Principal = mcpedgev1.Principal
	// ClientCapabilities is what this client can be asked. MCP: ClientCapabilities.
	ClientCapabilities = mcpedgev1.ClientCapabilities
	// SamplingRequest asks the client's model. MCP: CreateMessageRequestParams.
	SamplingRequest = mcpedgev1.CreateMessage
	// SamplingMessage is one turn of a conversation with the client's model. MCP: SamplingMessage.
	SamplingMessage = mcpedgev1.SamplingMessage
	// SamplingContent is one piece of a SamplingMessage. MCP: SamplingMessageContentBlock.
	SamplingContent = mcpedgev1.SamplingContent
	// SamplingResult is what the client's model said. MCP: CreateMessageResult.
	SamplingResult = mcpedgev1.CreateMessageResult
	// Root is a directory or file the client works on. MCP: Root.
	Root = mcpedgev1.Root
	// InputRequest is one question to the client; most handlers use Ask and its kin instead.
	InputRequest = mcpedgev1.InputRequest
	// InputResponse is one answer of the client; most handlers use Ask and its kin instead.
	InputResponse = mcpedgev1.InputResponse
)

// Role says who speaks. MCP: Role.
type Role = mcpedgev1.Role

// The roles of a message.
const (
	User      = mcpedgev1.Role_ROLE_USER
	Assistant = mcpedgev1.Role_ROLE_ASSISTANT
)

// LogLevel is the severity of a log message, by RFC 5424; a greater value is more severe.
// MCP: LoggingLevel.
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
