/** What was learned about one model of one provider from its answers. */
export class RouteMemory {
  /** The model begins with reasoning and writes only the closing tag. */
  startsThinking = false;
}
