#include "client/usage/command_json.h"

#include <string>

#include "client/usage/complaint.h"
#include "nlohmann/json.hpp"

namespace actord::client {
namespace {

Json ArgumentJson(const CLI::Option& option) {
  Json json;
  json["name"] = option.get_name();
  json["description"] = option.get_description();
  json["value"] = option.get_type_name();
  json["default"] = option.get_default_str();
  json["required"] = option.get_required();
  json["repeated"] = option.get_items_expected_max() > 1;
  return json;
}

Json OptionJson(const CLI::Option& option) {
  Json names = Json::array();
  for (const std::string& name : option.get_snames()) {
    names.push_back("-" + name);
  }
  for (const std::string& name : option.get_lnames()) {
    names.push_back("--" + name);
  }
  Json json;
  json["names"] = names;
  json["description"] = option.get_description();
  // A flag takes no value.
  const bool is_flag = option.get_items_expected_max() == 0;
  json["value"] = is_flag ? "" : option.get_type_name();
  json["default"] = option.get_default_str();
  json["required"] = option.get_required();
  json["repeated"] = option.get_items_expected_max() > 1;
  return json;
}

}  // namespace

Json CommandJson(const CLI::App& command) {
  Json arguments = Json::array();
  Json options = Json::array();
  for (const CLI::Option* option : command.get_options()) {
    if (option->get_positional()) {
      arguments.push_back(ArgumentJson(*option));
    } else if (!option->get_group().empty()) {
      options.push_back(OptionJson(*option));
    }
  }
  Json commands = Json::array();
  for (const CLI::App* one : command.get_subcommands(nullptr)) {
    commands.push_back(CommandJson(*one));
  }
  Json json;
  json["command"] = CommandWords(command);
  json["description"] = command.get_description();
  json["arguments"] = arguments;
  json["options"] = options;
  json["commands"] = commands;
  json["notes"] = command.get_footer();
  return json;
}

}  // namespace actord::client
